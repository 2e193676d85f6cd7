/* The update rules: the variants of each give the same bits, and the bits are those of the formula in float64,
 * rounded. */
#include "base/cpu.h"
#include "tests/testing.h"

#include <headrace/optimizer.h>
#include <math.h>
#include <string.h>

enum { N = 1003 };

/* The rules of all kinds. */
#define HR_OPTIMIZER(name) extern const hr_optimizer_kind hr_optimizer_kind_##name;
#include "train/optimizers/optimizers.def"
#undef HR_OPTIMIZER
static const hr_optimizer_kind *const kinds[] = {
#define HR_OPTIMIZER(name) &hr_optimizer_kind_##name,
#include "train/optimizers/optimizers.def"
#undef HR_OPTIMIZER
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const hr_rule *rule_named(const char *name)
{
    for (int k = 0; k < KINDS; k++)
        for (int r = 0; kinds[k]->rules[r]; r++)
            if (strcmp(kinds[k]->rules[r]->name, name) == 0) return kinds[k]->rules[r];
    fail_msg("there is no rule %s", name);
    return NULL;
}

typedef struct row {
    float w[N], a[N], b[N], c[N], g[N];
} row;

static float random_value(uint64_t n, float low, float high)
{
    return low + (high - low) * (float)((double)(hr_random(5, n) >> 40) / (1 << 24));
}

static void fill(row *r)
{
    for (int i = 0; i < N; i++) {
        r->w[i] = random_value((uint64_t)i * 4, -2, 2);
        r->a[i] = random_value((uint64_t)i * 4 + 1, 0.01f, 3);
        r->b[i] = random_value((uint64_t)i * 4 + 2, 0.01f, 3);
        r->c[i] = random_value((uint64_t)i * 4 + 2, 0.01f, 4);
        r->g[i] = random_value((uint64_t)i * 4 + 3, -1, 1);
    }
}

/* Numbers that make sense to every rule: rates below 1, the last ones flags. */
static const float numbers[][HR_MAX_RULE_NUMBERS] = {
    {0.1f, 0.9f, 0, 1e-7f, 0, 0}, {0.05f, 0.5f, 1, 0.1f, 1, 0}, {0.2f, 0.3f, 0.01f, 0.02f, 0.5f, 1}};

static void run(hr_rule_f32 *rule, row *r, const float *p)
{
    fill(r);
    /* From an odd place, so that nothing is aligned. */
    for (int step = 0; step < 3; step++) rule(r->w + 1, r->a + 1, r->b + 1, r->c + 1, r->g + 1, N - 1, p);
}

static void vector_variants_give_the_same_bits_as_plain_c(void **state)
{
    (void)state;
    static row plain, other;
    int compared = 0;
    for (int k = 0; k < KINDS; k++)
        for (int r = 0; kinds[k]->rules[r]; r++)
            for (int p = 0; p < 3; p++) {
                const hr_rule *rule = kinds[k]->rules[r];
                hr_rule_f32 *const variants[] = {hr__cpu_has(HR__AVX2) ? rule->avx2 : NULL,
                                                 hr__cpu_has(HR__AVX512) ? rule->avx512 : NULL};
                run(rule->portable, &plain, numbers[p]);
                for (int v = 0; v < 2; v++) {
                    if (!variants[v]) continue;
                    run(variants[v], &other, numbers[p]);
                    if (memcmp(&plain, &other, sizeof plain) != 0) fail_msg("%s: other bits", rule->name);
                    compared++;
                }
            }
    print_message("%d variants compared\n", compared);
}

static void the_processor_decides_which_variant_runs(void **state)
{
    (void)state;
    const hr_rule *ftrl = rule_named("ftrl");
    hr__cpu_limit(0);
    assert_ptr_equal(hr_rule_choose(ftrl), ftrl->portable);
    hr__cpu_limit(~0u);
    if (hr__cpu_has(HR__AVX512)) assert_ptr_equal(hr_rule_choose(ftrl), ftrl->avx512);
}

static void ftrl_follows_the_formula(void **state)
{
    (void)state;
    const double rate = 0.2, l1 = 0.3, l2 = 0.01, shrinkage = 0.02;
    const float p[HR_MAX_RULE_NUMBERS] = {0.2f, 0.3f, 0.01f, 0.02f, 0.5f, 0};
    static row r, before;
    fill(&before);
    r = before;
    hr_rule_choose(rule_named("ftrl"))(r.w, r.a, r.b, r.c, r.g, N, p);
    int zeros = 0;
    for (int i = 0; i < N; i++) {
        const double g = (double)before.g[i], w = (double)before.w[i], n = (double)before.a[i], more = n + g * g;
        const double z = (double)before.b[i] + g + 2 * shrinkage * w - (sqrt(more) - sqrt(n)) / rate * w;
        const double expected = fabs(z) > l1 ? ((z > 0 ? l1 : -l1) - z) / (sqrt(more) / rate + 2 * l2) : 0;
        assert_near((double)r.w[i], expected, 1e-5);
        assert_near((double)r.b[i], z, 1e-5);
        zeros += expected == 0;
    }
    assert_more(zeros, 0);
    assert_less(zeros, N);
}

static void any_power_of_ftrl_meets_its_square_root(void **state)
{
    (void)state;
    const float p[HR_MAX_RULE_NUMBERS] = {0.2f, 0.3f, 0.01f, 0.02f, 0.5f, 0};
    static row root, power;
    run(rule_named("ftrl")->portable, &root, p);
    run(rule_named("ftrl_power")->portable, &power, p);
    for (int i = 0; i < N; i++) assert_near(root.w[i], power.w[i], 1e-5f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_variants_give_the_same_bits_as_plain_c),
        cmocka_unit_test(the_processor_decides_which_variant_runs),
        cmocka_unit_test(ftrl_follows_the_formula),
        cmocka_unit_test(any_power_of_ftrl_meets_its_square_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
