/* The quota of processors, from files as Linux has them. */
#include "base/quota.h"
#include "tests/testing.h"
#include <stdio.h>
#include <sys/stat.h>

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int make_groups(void **state)
{
    (void)state;
    static const char *const folders[] = {"cg", "cg/a", "cg/a/b", "cg/cpu", "cg/cpu/c", "cg/cpu/c/d"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) mkdir(folders[i], 0777);
    return 0;
}

static double quota(const char *groups)
{
    put("groups", groups);
    return hr__cpu_quota_of("groups", "cg");
}

static void least_of_the_groups_counts(void **state)
{
    (void)state;
    put("cg/a/cpu.max", "150000 100000\n");
    put("cg/a/b/cpu.max", "max 100000\n");
    assert_float_equal(quota("0::/a/b\n"), 1.5, 1e-9);
    put("cg/a/b/cpu.max", "50000 100000\n");
    assert_float_equal(quota("0::/a/b\n"), 0.5, 1e-9);
    assert_float_equal(quota("0::/a\n"), 1.5, 1e-9);
    assert_float_equal(quota("0::/\n"), 0, 0);
    assert_float_equal(quota("0::/elsewhere/deep\n"), 0, 0);
}

static void first_version_is_read_too(void **state)
{
    (void)state;
    put("cg/cpu/c/cpu.cfs_quota_us", "200000\n");
    put("cg/cpu/c/cpu.cfs_period_us", "100000\n");
    put("cg/cpu/c/d/cpu.cfs_quota_us", "-1\n");
    put("cg/cpu/c/d/cpu.cfs_period_us", "100000\n");
    assert_float_equal(quota("9:cpuset:/c\n4:cpu,cpuacct:/c/d\n0::/\n"), 2, 1e-9);
    assert_float_equal(quota("4:cpuacct:/c\n"), 0, 0);
    assert_float_equal(quota("4:cpuacct,cpu:/c\n"), 2, 1e-9);
}

static void rubbish_is_no_quota(void **state)
{
    (void)state;
    put("cg/a/cpu.max", "");
    assert_float_equal(quota("0::/a\n"), 0, 0);
    put("cg/a/cpu.max", "many of them\n");
    assert_float_equal(quota("0::/a\n"), 0, 0);
    put("cg/a/cpu.max", "100000 0\n");
    assert_float_equal(quota("0::/a\n"), 0, 0);
    assert_float_equal(quota("0:/a\nnonsense\n::\n"), 0, 0);
    assert_float_equal(hr__cpu_quota_of("no such file", "cg"), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_of_the_groups_counts),
        cmocka_unit_test(first_version_is_read_too),
        cmocka_unit_test(rubbish_is_no_quota),
    };
    return cmocka_run_group_tests(tests, make_groups, NULL);
}
