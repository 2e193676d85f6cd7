/* The models of a server replaced by those of a config. */
#include "serve/internal.h"

hr_status hr__server_reload(hr_server *server, hr_view config, bool is_text, hr__fault *fault)
{
    hr__model_config *configs;
    int count;
    HR_TRY(hr__configs_read(config, is_text, &configs, &count, fault));
    const hr_status st = hr__models_set(server->models, configs, count, true, fault);
    hr__configs_free(configs, count);
    return st;
}
