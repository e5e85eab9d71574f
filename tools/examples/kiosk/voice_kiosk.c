// voice -m MODEL --speech-model WHISPER: a kiosk that listens. It shows what is said, answers with
// a language model, and speaks the answer through espeak-ng, in one thread beside a sign that
// moves. See README.md.
#include "ear.h"
#include "frames.h"

#include <glinfer.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>

enum {
    MAX_PROMPT = 256,
    MAX_TEXT = 4096,
    MAX_HEARD = 512,
    N_PREDICT = 80,
    N_WARM = 24, // tokens of an answer before the sign starts
};

extern char **environ;

static const char usage[] =
    "usage: voice -m MODEL --speech-model WHISPER [--vad-model SILERO]\n"
    "             [--sound -|mic[:DEVICE]|FILE] [--language en] [--seconds N] [--fps N]\n"
    "             [--budget-us N] [--png DIR] [--kms CARD]\n";

struct voice {
    // Flags:
    const char *model_path, *speech_path, *vad_path, *sound, *language;
    uint32_t budget_us;

    struct frames frames;
    struct glinfer_device *device;
    struct glinfer_model *model, *speech_model;
    struct glinfer_session *session;
    struct glinfer_transcription *transcription;
    struct glinfer_error err;
    int fd; // of the device
    struct ear ear;
    enum glinfer_transcription_state state;
    bool is_ended;         // the sound
    char heard[MAX_HEARD]; // segments of the running utterance
    bool has_question;     // heard is whole
    char text[MAX_TEXT];   // of the sign
    size_t answer;         // where the answer begins in it
    bool is_answering;
    bool is_warm;  // the sign has started
    pid_t speaker; // espeak-ng; 0: it is silent
    uint32_t n_heard, n_answers, n_tokens;
    double slowest; // seconds that a call has taken lately
    struct durations hearing, answering;
};

//-- models ----------------------------------------------------------------------------------------

static struct glinfer_model *load(struct voice *voice, const char *path)
{
    struct glinfer_model_params params;
    glinfer_model_params_init(&params);
    params.path = path;
    return glinfer_model_load(voice->device, &params, &voice->err);
}

// Creates a transcription; without a network that detects speech all sound is one utterance.
static struct glinfer_transcription *listen(struct voice *voice, const char *vad_path)
{
    struct glinfer_transcription_params params;
    struct glinfer_source vad;
    glinfer_source_init(&vad);
    vad.path = vad_path;
    glinfer_transcription_params_init(&params);
    params.vad = vad_path ? &vad : NULL;
    params.vad_min_silence_ms = 500;
    params.is_live = true;
    params.temperature_step = 0; // one attempt, which bounds the time to the answer
    params.language = voice->language;
    return glinfer_transcription_create(voice->speech_model, &params, &voice->err);
}

static bool open_models(struct voice *voice)
{
    struct glinfer_generate_params expected;
    struct glinfer_host_gl host; // the device has a context of its own on the sign's display
    struct glinfer_device_params device_params;
    struct glinfer_session_params session_params;
    glinfer_generate_params_init(&expected);
    expected.n_predict = N_PREDICT;
    glinfer_host_gl_init(&host);
    host.display = voice->frames.sign.display;
    glinfer_device_params_init(&device_params);
    device_params.host = &host;
    device_params.allow_software = true;
    glinfer_session_params_init(&session_params);
    session_params.n_ctx = 512;
    session_params.expected = &expected; // compiled now, not between frames
    voice->device = glinfer_device_create(&device_params, &voice->err);
    voice->model = voice->device ? load(voice, voice->model_path) : NULL;
    voice->speech_model = voice->model ? load(voice, voice->speech_path) : NULL;
    voice->session = voice->speech_model
                         ? glinfer_session_create(voice->model, &session_params, &voice->err)
                         : NULL;
    voice->transcription = voice->session ? listen(voice, voice->vad_path) : NULL;
    voice->fd = voice->transcription ? glinfer_device_fd(voice->device, &voice->err) : -1;
    return voice->fd >= 0;
}

//-- the answer ------------------------------------------------------------------------------------

static bool begin(struct voice *voice, const char *question)
{
    const struct glinfer_message message = {.role = "user", .content = question};
    const struct glinfer_tokenizer *tokenizer = glinfer_model_tokenizer(voice->model);
    int32_t prompt[MAX_PROMPT];
    struct glinfer_generate_params params;
    glinfer_generate_params_init(&params);
    params.prompt = prompt;
    params.n_predict = N_PREDICT;
    glinfer_session_reset(voice->session);
    bool ok = glinfer_chat_available(tokenizer)
                  ? glinfer_chat_tokenize(tokenizer, &message, 1, prompt, MAX_PROMPT,
                                          &params.n_prompt, &voice->err)
                  : glinfer_tokenize(tokenizer, question, strlen(question), 0, prompt, MAX_PROMPT,
                                     &params.n_prompt, &voice->err);
    params.n_prompt = params.n_prompt < MAX_PROMPT ? params.n_prompt : MAX_PROMPT;
    ok = ok && glinfer_begin(voice->session, &params, &voice->err);
    voice->answer = (size_t)snprintf(voice->text, MAX_TEXT, "> %s\n\n", question);
    voice->is_answering = ok;
    return ok;
}

// Speaks the answer, if espeak-ng is there.
static void speak(struct voice *voice)
{
    char *const words[] = {"espeak-ng", "--", voice->text + voice->answer, NULL};
    if (voice->speaker == 0 && voice->text[voice->answer] &&
        posix_spawnp(&voice->speaker, words[0], NULL, NULL, words, environ) != 0) {
        voice->speaker = 0;
    }
}

static bool step_answer(struct voice *voice)
{
    struct glinfer_event event = {.struct_size = sizeof(event)};
    const size_t size = strlen(voice->text);
    if (!glinfer_step(voice->device, voice->budget_us, &event, &voice->err)) {
        return false;
    }
    if (event.kind == GLINFER_EVENT_END) {
        voice->is_answering = false;
        voice->n_answers++;
        if (voice->is_warm) {
            printf("%s\n", voice->text + voice->answer);
            speak(voice);
        }
    } else if (event.kind == GLINFER_EVENT_TOKEN) {
        voice->n_tokens++;
        if (event.token->text_size < MAX_TEXT - size) {
            memcpy(voice->text + size, event.token->text, event.token->text_size);
            voice->text[size + event.token->text_size] = 0;
        }
    }
    return true;
}

//-- the question ----------------------------------------------------------------------------------

static bool is_speaking(struct voice *voice)
{
    if (voice->speaker > 0 && waitpid(voice->speaker, NULL, WNOHANG) != 0) {
        voice->speaker = 0;
    }
    return voice->speaker > 0;
}

// Feeds the sound of the last frame, except while the kiosk would hear itself.
static bool feed(struct voice *voice)
{
    float samples[GLINFER_SPEECH_RATE];
    if (voice->is_ended) {
        return true;
    }
    const size_t n = ear_read(&voice->ear, samples, GLINFER_SPEECH_RATE, &voice->is_ended);
    if (voice->is_ended) {
        glinfer_transcription_end(voice->transcription);
    }
    if (voice->is_ended || n > 0) {
        voice->state = GLINFER_TRANSCRIPTION_WORKS;
    }
    return n == 0 || is_speaking(voice) ||
           glinfer_transcription_feed(voice->transcription, samples, n, &voice->err);
}

static bool step_hearing(struct voice *voice)
{
    struct glinfer_transcript_event event;
    if (!glinfer_transcription_step(voice->transcription, voice->budget_us, &voice->state,
                                    &voice->err)) {
        return false;
    }
    while (glinfer_transcription_poll(voice->transcription, &event)) {
        const size_t size = strlen(voice->heard);
        if (event.kind == GLINFER_TRANSCRIPT_PARTIAL && !voice->is_answering) {
            snprintf(voice->text, MAX_TEXT, ">%s%s...", voice->heard, event.text);
        } else if (event.kind == GLINFER_TRANSCRIPT_SEGMENT) {
            snprintf(voice->heard + size, MAX_HEARD - size, "%s", event.text);
        } else if (event.kind == GLINFER_TRANSCRIPT_UTTERANCE && size > 0) {
            voice->has_question = true;
            voice->n_heard++;
            printf(">%s\n", voice->heard);
        }
    }
    return true;
}

//-- frames ----------------------------------------------------------------------------------------

// Calls one of the models once and notes how long it took.
static bool call(struct voice *voice, bool (*step)(struct voice *voice),
                 struct durations *durations)
{
    const double start = timing_now();
    const bool ok = step(voice);
    const double seconds = timing_now() - start, longest = 0.5 / voice->frames.fps;
    durations_add(durations, seconds);
    voice->slowest = seconds > voice->slowest ? seconds : 0.98 * voice->slowest;
    voice->slowest = voice->slowest < longest ? voice->slowest : longest;
    return ok;
}

// Lets both models work within a frame, in turns, as long as another call would end in time.
static bool work(void *user, double next)
{
    struct voice *voice = user;
    bool ok = feed(voice), has_time = true;
    while (ok && has_time) {
        if (voice->state == GLINFER_TRANSCRIPTION_WORKS) {
            ok = call(voice, step_hearing, &voice->hearing);
        }
        if (ok && voice->has_question && !voice->is_answering) {
            ok = begin(voice, voice->heard + (voice->heard[0] == ' '));
            voice->has_question = false;
            voice->heard[0] = 0;
        }
        if (ok && voice->is_answering) {
            ok = call(voice, step_answer, &voice->answering);
        }
        has_time = voice->state == GLINFER_TRANSCRIPTION_WORKS
                       ? timing_now() < next - voice->slowest
                       : voice->is_answering && timing_wait(next - voice->slowest, voice->fd);
    }
    if (!ok) { // the sign goes on, and says why it hears nothing
        snprintf(voice->text, MAX_TEXT, "%s", voice->err.message);
    }
    return ok;
}

// Transcribes a second of silence and begins an answer: drivers compile much of a program only when
// it first runs, and the library measures how long its parts take.
static bool warm_up(struct voice *voice)
{
    static const float silence[GLINFER_SPEECH_RATE];
    struct glinfer_transcription *first = listen(voice, NULL);
    bool ok = first && glinfer_transcription_feed(first, silence, GLINFER_SPEECH_RATE, &voice->err);
    glinfer_transcription_end(first);
    ok = ok && glinfer_transcription_step(first, 0, &voice->state, &voice->err);
    glinfer_transcription_destroy(&first);
    ok = ok && begin(voice, "Hello");
    while (ok && voice->is_answering && voice->n_tokens < N_WARM) {
        ok = step_answer(voice);
        timing_wait(timing_now() + 0.01, voice->fd);
    }
    glinfer_end(voice->session);
    voice->is_answering = false;
    voice->is_warm = true;
    voice->n_tokens = voice->n_answers = 0;
    voice->state = GLINFER_TRANSCRIPTION_WAITS;
    snprintf(voice->text, MAX_TEXT, "Say something");
    return ok;
}

static void report(struct voice *voice)
{
    frames_report(&voice->frames);
    durations_print(&voice->hearing, "durations of glinfer_transcription_step");
    durations_print(&voice->answering, "durations of glinfer_step");
    printf("heard: %u utterances in %.1f s of sound\n", voice->n_heard,
           (double)voice->ear.n_read / GLINFER_SPEECH_RATE);
    printf("answers: %u, tokens: %u\n", voice->n_answers, voice->n_tokens);
}

//-- life ------------------------------------------------------------------------------------------

static bool take_flags(struct voice *voice, int argc, char **argv)
{
    const struct {
        const char *flag, **value;
    } texts[] = {
        {"-m", &voice->model_path},        {"--speech-model", &voice->speech_path},
        {"--vad-model", &voice->vad_path}, {"--sound", &voice->sound},
        {"--language", &voice->language},
    };
    bool ok = argc % 2 == 1;
    for (int i = 1; ok && i + 1 < argc; i += 2) {
        bool is_text = false;
        for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
            if (strcmp(argv[i], texts[k].flag) == 0) {
                *texts[k].value = argv[i + 1];
                is_text = true;
            }
        }
        ok = is_text || (strcmp(argv[i], "--budget-us") == 0
                             ? frames_take_number(argv[i + 1], 1000000, &voice->budget_us)
                             : frames_take_flag(&voice->frames, argv[i], argv[i + 1]));
    }
    return ok && voice->model_path && voice->speech_path;
}

static void close_voice(struct voice *voice)
{
    glinfer_transcription_destroy(&voice->transcription);
    glinfer_session_destroy(&voice->session);
    glinfer_model_destroy(&voice->speech_model);
    glinfer_model_destroy(&voice->model);
    glinfer_device_destroy(&voice->device);
    frames_close(&voice->frames); // ends the display: the device was there before
    ear_close(&voice->ear);
    if (voice->speaker > 0) {
        kill(voice->speaker, SIGTERM);
        waitpid(voice->speaker, NULL, 0);
    }
    durations_finish(&voice->hearing);
    durations_finish(&voice->answering);
}

int main(int argc, char **argv)
{
    static struct voice voice = {
        .budget_us = 4000,
        .fd = -1,
        .sound = "mic",
        .ear = {.fd = -1},
        .frames = {.seconds = 60, .fps = 60, .name = "voice", .title = "Ask me"},
    };
    struct frames *frames = &voice.frames;
    frames->text = voice.text;
    if (!take_flags(&voice, argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    bool ok = frames_open(frames) && open_models(&voice) && warm_up(&voice);
    const char *failure = ok ? ear_open(&voice.ear, voice.sound) : frames->failure;
    if (ok && !failure) {
        ok = frames_run(frames, work, &voice);
        report(&voice);
        ok = frames_write(frames) && ok;
        failure = frames->failure;
    }
    if (!ok || failure) {
        fprintf(stderr, "voice: %s\n", failure ? failure : voice.err.message);
    }
    close_voice(&voice);
    return ok && !failure ? 0 : 1;
}
