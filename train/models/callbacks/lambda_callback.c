/* LambdaCallback: some functions as a callback. */
#include <headrace/models.h>

typedef struct lambda {
    hr_lambda_callback_opts o;
} lambda;

static void lambda_release(void *state)
{
    lambda *l = state;
    if (l->o.user_free) l->o.user_free(l->o.user);
}

/* lambda_train_begin and so on: the functions of the kind. */
#define LAMBDA(moment, field)                                                                                          \
    static hr_status lambda_##moment(void *state, const hr_callback_call *call, hr_error *err)                         \
    {                                                                                                                  \
        const lambda *l = state;                                                                                       \
        return l->o.field ? l->o.field(l->o.user, call, err) : HR_OK;                                                  \
    }
LAMBDA(train_begin, train_begin)
LAMBDA(train_end, train_end)
LAMBDA(epoch_begin, epoch_begin)
LAMBDA(epoch_end, epoch_end)
LAMBDA(train_batch_begin, batch_begin)
LAMBDA(train_batch_end, batch_end)
LAMBDA(test_begin, test_begin)
LAMBDA(test_end, test_end)
LAMBDA(test_batch_begin, test_batch_begin)
LAMBDA(test_batch_end, test_batch_end)
LAMBDA(predict_begin, predict_begin)
LAMBDA(predict_end, predict_end)
LAMBDA(predict_batch_begin, predict_batch_begin)
LAMBDA(predict_batch_end, predict_batch_end)

static const hr_callback_kind lambda_callback_kind = {
    .head = HR_CALLBACK_HEAD,
    .name = "lambda_callback",
    .state_size = sizeof(lambda),
    .release = lambda_release,
    .train_begin = lambda_train_begin,
    .train_end = lambda_train_end,
    .epoch_begin = lambda_epoch_begin,
    .epoch_end = lambda_epoch_end,
    .train_batch_begin = lambda_train_batch_begin,
    .train_batch_end = lambda_train_batch_end,
    .test_begin = lambda_test_begin,
    .test_end = lambda_test_end,
    .test_batch_begin = lambda_test_batch_begin,
    .test_batch_end = lambda_test_batch_end,
    .predict_begin = lambda_predict_begin,
    .predict_end = lambda_predict_end,
    .predict_batch_begin = lambda_predict_batch_begin,
    .predict_batch_end = lambda_predict_batch_end,
};

hr_callback *hr_lambda_callback_with(const hr_lambda_callback_opts *opts)
{
    const lambda l = {HR_OPTIONS(hr_lambda_callback_opts, opts)};
    return hr_callback_new(&lambda_callback_kind, &l, NULL);
}
