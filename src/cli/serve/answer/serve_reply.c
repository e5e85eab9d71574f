#include "cli/serve/answer/serve_reply.h"

#include "cli/common/cli_json.h"
#include "cli/serve/answer/serve_answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *type_of(unsigned status)
{
    switch (status) {
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 404:
        return "not_found_error";
    case 500:
        return "server_error";
    case 501:
        return "not_supported_error";
    case 503:
        return "unavailable_error";
    default:
        return "invalid_request_error";
    }
}

cJSON *serve_error_json(unsigned status, const char *message)
{
    cJSON *json = cJSON_CreateObject();
    cJSON *error = cJSON_AddObjectToObject(json, "error");
    cJSON_AddNumberToObject(error, "code", status);
    cJSON_AddStringToObject(error, "message", message);
    cJSON_AddStringToObject(error, "type", type_of(status));
    return json;
}

void serve_reply_finish(struct serve_reply *reply)
{
    serve_answer_destroy(reply->answer);
    cli_bytes_finish(&reply->body);
    memset(reply, 0, sizeof(*reply));
}

void serve_reply_json(struct serve_reply *reply, unsigned status, cJSON *json)
{
    serve_reply_finish(reply);
    reply->status = status;
    reply->type = "application/json; charset=utf-8";
    cli_append_json(&reply->body, json);
    cJSON_Delete(json);
}

void serve_reply_text(struct serve_reply *reply, const char *type, const char *text, size_t size)
{
    serve_reply_finish(reply);
    reply->status = 200;
    reply->type = type;
    cli_bytes_append(&reply->body, text, size);
}

void serve_reply_error(struct serve_reply *reply, unsigned status, const char *format, ...)
{
    char message[1280];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    for (char *c = message; *c; c++) { // a cut may be within a character
        *c = (unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7F ? '?' : *c;
    }
    serve_reply_json(reply, status, serve_error_json(status, message));
    reply->retry_s = status == 503 ? 1 : 0;
}

void serve_reply_refuse(struct serve_reply *reply, const struct serve_fields *fields)
{
    serve_reply_error(reply, fields->status, "%s", fields->message);
    if (fields->n_ctx > 0) {
        cJSON *json = serve_error_json(fields->status, fields->message);
        cJSON *error = cJSON_GetObjectItem(json, "error");
        cJSON_ReplaceItemInObject(error, "type", cJSON_CreateString("exceed_context_size_error"));
        cJSON_AddNumberToObject(error, "n_prompt_tokens", (double)fields->n_prompt);
        cJSON_AddNumberToObject(error, "n_ctx", fields->n_ctx);
        serve_reply_json(reply, fields->status, json);
    }
}

void serve_reply_flatten(struct serve_reply *reply)
{
    cJSON *json = reply->body.data ? cJSON_Parse(reply->body.data) : NULL;
    const unsigned retry_s = reply->retry_s;
    const cJSON *message = cJSON_GetObjectItem(cJSON_GetObjectItem(json, "error"), "message");
    if (cJSON_IsString(message)) {
        cJSON *flat = cJSON_CreateObject();
        cJSON_AddItemToObject(flat, "error", cJSON_CreateString(message->valuestring));
        serve_reply_json(reply, reply->status, flat);
        reply->retry_s = retry_s;
    }
    cJSON_Delete(json);
}
