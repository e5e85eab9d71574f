// Transcriptions in builds that cannot read sound.
#include "cli/serve/api/serve_handlers.h"
#include "cli/serve/schedule/serve_speech.h"

void serve_handle_transcription(const struct serve_api *api, const struct serve_call *call,
                                struct serve_reply *reply)
{
    (void)api;
    (void)call;
    serve_reply_error(reply, 501,
                      "this build cannot read sound: it needs libsndfile, libsamplerate and zlib");
}

void serve_handle_load(const struct serve_api *api, const struct serve_call *call,
                       struct serve_reply *reply)
{
    serve_handle_transcription(api, call, reply);
}

// No task has sound in these builds: the functions below are linked, but never get a request.

void serve_speech_destroy(struct serve_speech *speech)
{
    (void)speech;
}

bool serve_speech_read(struct serve_speech *speech, const float **samples, size_t *n,
                       struct glinfer_error *err)
{
    (void)speech;
    (void)samples;
    (void)n;
    (void)err;
    return false;
}

void serve_speech_add(struct serve_speech *speech, const struct glinfer_transcript_event *event)
{
    (void)speech;
    (void)event;
}
