// The same from C++, which calls the functions behind the macros.
#include <headrace/headrace.h>
#include <headrace/train.h>

#include <cstdio>

int main()
{
    const float value = 3;
    hr_graph *g = hr_graph_new();
    hr_session *s = hr_session_new_with(g, nullptr);
    hr_shape shape = {2, {1, 1}};
    const hr_tensor matrix = hr_tensor_of(HR_FLOAT, shape, &value);
    hr_name_opts named = {};
    named.struct_size = sizeof named;
    hr_matmul_opts options = {}; /* members may be added at the end: none is counted here */
    options.struct_size = sizeof options;
    const hr_node x = hr_const_with(g, &matrix, &named), y = hr_matmul_with(x, x, &options);
    hr_tensor out = {};
    hr_session_run(s, nullptr, 0, &y, 1, &out, nullptr);
    std::printf("3 %g\n", out.data ? double(*static_cast<const float *>(out.data)) : 0.0);
    hr_tensor_clear(&out);
    hr_session_free(s);
    hr_graph_free(g);
}
