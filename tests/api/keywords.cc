/* Calls with options from C++20: given, left out, as values beside a default, and in functions whose C form has its
 * options in the middle. */
#include <headrace/headrace.hpp>

#include <cstdio>

static int64_t sum_of(hr_dataset *ds)
{
    hr_iterator *it = hr::iterate(ds, {.seed = 1});
    const hr_element *e;
    int64_t sum = 0;
    while (hr_next(it, &e) == HR_OK) {
        const hr_tensor *numbers = hr_get_at(e, 0);
        for (int64_t i = 0; i < numbers->count; i++) sum += static_cast<const int64_t *>(numbers->data)[i];
    }
    if (hr_iterator_error(it)) std::fprintf(stderr, "%s\n", hr_iterator_error(it)->text);
    hr_iterator_free(it);
    return sum;
}

static bool expect(const char *what, int64_t expected, int64_t found)
{
    if (expected != found)
        std::fprintf(stderr, "%s: expected %lld, found %lld\n", what, (long long)expected, (long long)found);
    return expected == found;
}

int main()
{
    bool right = expect("a range", 45, sum_of(hr::range(10)));
    right &= expect("a shuffled range", 45, sum_of(hr::shuffle(hr::range(10), 100, {.seed = 7})));
    right &= expect("whole batches", 36, sum_of(hr::batch(hr::range(10), 3, {.drop_remainder = true})));
    right &= expect("a value beside a default", 90, sum_of(hr::repeat(hr::range(10), {.count = hr::i64(2)})));

    hr_output *out = nullptr;
    hr_error err = {};
    right &= expect("options in the middle", HR_NOT_FOUND,
                    hr::output_open("no/such/folder/file", &out, &err, {.compression = HR_NONE}));
    const hr_shape shape = hr::shape(2, -1);
    right &= expect("a shape's rank", 2, shape.rank) && expect("its dimension", -1, shape.dims[1]);
#ifdef HR_OPTIMIZERS_H
    hr_optimizer *adam = hr::adam(0.001f, {.beta1 = hr::f32(0.8f)});
    right &= expect("an optimizer", 1, adam != nullptr);
    hr_optimizer_free(adam);
#endif
    return right ? 0 : 1;
}
