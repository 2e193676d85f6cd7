/* The linker puts __wrap_hr_read_i64 between the library and hr_read_i64 (--wrap). */
#include "tests/data/crafted_state.h"

static const crafted_number *crafted;
static int craftings;
static int64_t reads;

void craft_state(const crafted_number *number, int numbers)
{
    crafted = number;
    craftings = numbers;
    reads = 0;
}

int64_t crafted_reads(void) { return reads; }

hr_status __real_hr_read_i64(hr_token_reader *token, int64_t *value, hr_error *err);
hr_status __wrap_hr_read_i64(hr_token_reader *token, int64_t *value, hr_error *err);

hr_status __wrap_hr_read_i64(hr_token_reader *token, int64_t *value, hr_error *err)
{
    const hr_status st = __real_hr_read_i64(token, value, err);
    if (craftings == 0) return st;
    for (int i = 0; i < craftings && st == HR_OK; i++) {
        const uint64_t base = crafted[i].added ? (uint64_t)*value : 0;
        if (crafted[i].read == reads) *value = (int64_t)(base + (uint64_t)crafted[i].value);
    }
    reads++;
    return st;
}
