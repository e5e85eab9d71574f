// `glinfer transcribe`: the text of sound, with whisper-cli's flags.
#include "cli/cli_commands.h"
#include "cli/models/models_pull.h"
#include "cli/speech/cli_hearing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct settings {
    struct cli_session_flags session;
    struct cli_texts files;
    const char *microphone, *output, *vad_model, *encoding;
    bool no_times, no_fallback, no_vad, is_live, only_language;
    bool formats[CLI_TRANSCRIPT_FORMATS];
    int64_t max_context, seed, rate, channels, from_ms, duration_ms;
    struct glinfer_transcription_params params;
};

#define DEFAULT(type, field, value, least, most) .field = (value),
static struct settings defaults = {
    .max_context = -1,
    .rate = 16000,
    .channels = 1,
    .params = {GLINFER_SPEECH_MAP(DEFAULT).language = "auto",
               .struct_size = sizeof(struct glinfer_transcription_params)},
};

#define CLI_SETTINGS               settings
#define FORMAT(index, names, help) CLI_SWITCH(formats[index], names, help)
static const struct cli_flag flags[] = {
    CLI_HEADING("Model and device"),
    CLI_ANY_MODEL_FLAGS("a Whisper model: a file of whisper.cpp, or a name such as whisper-base "
                        "(required)"),
    CLI_HEADING("Sound (words of the command line are files, too)"),
    CLI_TEXTS(files, "-f, --file", "FILE",
              "WAV, FLAC, Ogg, MP3; can be repeated; -: standard input, which may be raw samples"),
    CLI_TEXT(microphone, "--mic", "DEVICE", "listen to a microphone of ALSA, such as default"),
    CLI_SWITCH(is_live, "--live", "show the text of an utterance while it is spoken"),
    CLI_TEXT(encoding, "--format", "NAME", "raw samples: s16le (default), u8, f32le, mulaw, ..."),
    CLI_INT(rate, 1000, 384000, "--rate", "HZ", "raw samples: default %v a second"),
    CLI_INT(channels, 1, 64, "--channels", "N", "raw samples: default %v channel"),
    CLI_INT(from_ms, 0, UINT32_MAX, "-ot, --offset-t", "MS", "leave out the beginning of a sound"),
    CLI_INT(duration_ms, 0, UINT32_MAX, "-d, --duration", "MS",
            "of the sound after that; 0 (default): to its end"),
    CLI_HEADING("Text"),
    CLI_CUSTOM(params.language, cli_parse_language, "-l, --language", "LANG",
               "code or name such as de or german; auto (default): detected"),
    CLI_SWITCH(only_language, "-dl, --detect-language", "print the language alone"),
    CLI_SWITCH(params.translate, "-tr, --translate", "translate to English"),
    CLI_TEXT(params.prompt, "--prompt", "TEXT", "text before the sound: names, spelling, style"),
    CLI_SWITCH(params.carry_prompt, "--carry-initial-prompt", "the prompt precedes every window"),
    CLI_INT(max_context, -1, 448, "-mc, --max-context", "N",
            "tokens of earlier text before a window: 0 none, below 0 all that fit"),
    CLI_SWITCH(no_times, "-nt, --no-timestamps", "print the text without times"),
    CLI_SWITCH(params.has_words, "-wt, --words", "find the times of words, for -ojf"),
    CLI_SPEECH(max_length, "-ml, --max-len", "N", "characters of a segment; 0: unlimited"),
    CLI_SWITCH(params.split_on_word, "-sow, --split-on-word",
               "split segments of -ml between words"),
    CLI_TEXT(params.suppress, "--suppress-regex", "REGEX", "tokens to leave out"),
    CLI_SWITCH(params.suppress_symbols, "-sns, --suppress-nst",
               "leave out tokens that are not speech"),
    CLI_HEADING("Output"),
    FORMAT(CLI_TRANSCRIPT_TXT, "-otxt, --output-txt", "write a text file beside the sound"),
    FORMAT(CLI_TRANSCRIPT_SRT, "-osrt, --output-srt", "write subtitles: SubRip"),
    FORMAT(CLI_TRANSCRIPT_VTT, "-ovtt, --output-vtt", "write subtitles: WebVTT"),
    FORMAT(CLI_TRANSCRIPT_LRC, "-olrc, --output-lrc", "write lyrics: LRC"),
    FORMAT(CLI_TRANSCRIPT_CSV, "-ocsv, --output-csv", "write a table: CSV"),
    FORMAT(CLI_TRANSCRIPT_JSON, "-oj, --output-json", "write JSON"),
    FORMAT(CLI_TRANSCRIPT_JSON_FULL, "-ojf, --output-json-full", "write JSON with tokens"),
    CLI_TEXT(output, "-of, --output-file", "PATH", "path of these files without their ending"),
    CLI_SWITCH(session.device.is_quiet, "-np, --no-prints", "print only text and errors, as -q"),
    CLI_HEADING("Decoding"),
    CLI_SPEECH(temperature, "-tp, --temperature", "N", "of the first attempt, default %v"),
    CLI_SPEECH(temperature_step, "-tpi, --temperature-inc", "N", "to the next attempt, default %v"),
    CLI_SWITCH(no_fallback, "-nf, --no-fallback", "no further attempts"),
    CLI_SPEECH(best_of, "-bo, --best-of", "N", "texts of an attempt above 0, default %v"),
    CLI_SPEECH(beam_size, "-bs, --beam-size", "N", "beams; default %v: the most likely token"),
    CLI_SPEECH(audio_ctx, "-ac, --audio-ctx", "N",
               "least positions of 20 ms that are encoded; default %v: those of the sound"),
    CLI_SWITCH(params.is_exact, "--exact",
               "encode 30 s however short the sound is, as whisper.cpp does"),
    CLI_SPEECH(entropy_least, "-et, --entropy-thold", "N",
               "another attempt below this entropy of the text, default %v"),
    CLI_SPEECH(logprob_least, "-lpt, --logprob-thold", "N",
               "another attempt below this mean log-probability: -1 (default)"),
    CLI_SPEECH(no_speech_most, "-nth, --no-speech-thold", "N",
               "no text above this probability of no speech, default %v"),
    CLI_INT(seed, 0, UINT32_MAX, "-s, --seed", "N", "of random numbers, default %v"),
    CLI_HEADING("Voice activity detection"),
    CLI_TEXT(vad_model, "-vm, --vad-model", "FILE",
             "Silero's network, default silero-vad if it was pulled"),
    CLI_SWITCH(no_vad, "--no-vad", "transcribe silence and noise, too"),
    CLI_SPEECH(vad_threshold, "-vt, --vad-threshold", "N",
               "probability at which speech begins, default %v"),
    CLI_SPEECH(vad_min_speech_ms, "-vspd, --vad-min-speech-duration-ms", "MS",
               "shorter speech is dropped, default %v"),
    CLI_SPEECH(vad_min_silence_ms, "-vsd, --vad-min-silence-duration-ms", "MS",
               "shorter silence does not end speech, default %v"),
    CLI_SPEECH(vad_max_speech_s, "-vmsd, --vad-max-speech-duration-s", "S",
               "longer speech is split; 0 (default): unlimited"),
    CLI_SPEECH(vad_pad_ms, "-vp, --vad-speech-pad-ms", "MS",
               "sound that is kept around speech, default %v"),
    CLI_IGNORED_VALUE("-t, --threads", "the GPU does the work"),
    CLI_IGNORED("-fa, --flash-attn", "attention always works in ranges of keys"),
    CLI_IGNORED("--vad", "voice activity detection is on by default"),
    CLI_IGNORED_VALUE("-vo, --vad-samples-overlap", "speech keeps the pauses around it"),
    CLI_IGNORED_VALUE("-p, --processors", "the GPU does the work"),
    CLI_IGNORED("-pp, --print-progress", "terminals show it"),
};

struct transcribe {
    const struct settings *settings;
    struct cli_pcm pcm; // how raw samples are written
    struct cli_session session;
    struct glinfer_source vad;
    char vad_path[MODELS_MAX_PATH];
    struct glinfer_transcription *transcription;
};

//-- set-up ----------------------------------------------------------------------------------------

// Finds the file of the network that finds speech. Returns false with the reason printed.
static bool find_vad(struct transcribe *self)
{
    const struct models_asked asked = {.is_offline = true};
    glinfer_source_init(&self->vad);
    self->vad.path = self->vad_path;
    return self->settings->no_vad ||
           models_find_vad(self->settings->vad_model, &asked, self->vad_path);
}

static void fill_params(const struct transcribe *self, struct glinfer_transcription_params *params)
{
    const struct settings *settings = self->settings;
    *params = settings->params;
    params->vad = self->vad_path[0] ? &self->vad : NULL;
    params->is_live = settings->is_live || settings->microphone;
    params->no_partials = !isatty(STDOUT_FILENO);
    params->max_context =
        settings->max_context < 0 ? params->max_context : (uint32_t)settings->max_context;
    params->temperature_step = settings->no_fallback ? 0 : params->temperature_step;
    params->seed = (uint64_t)settings->seed;
}

static bool start(struct transcribe *self)
{
    struct glinfer_transcription_params params;
    struct glinfer_error err;
    fill_params(self, &params);
    self->session.bar.work = "transcribing";
    cli_bar_wait(&self->session.bar, "preparing", true);
    self->transcription = glinfer_transcription_create(self->session.model, &params, &err);
    return cli_bar_end(&self->session.bar, self->transcription, &err);
}

//-- results ---------------------------------------------------------------------------------------

static bool write_file(const struct cli_transcript *transcript, enum cli_transcript_format format,
                       const char *stem)
{
    char path[MODELS_MAX_PATH];
    struct cli_bytes text = {0};
    FILE *file;
    snprintf(path, sizeof(path), "%s.%s", stem, cli_transcript_ending(format));
    if (!cli_create(path, &file)) {
        return false;
    }
    cli_transcript_write(transcript, format, &text);
    fwrite(text.data ? text.data : "", 1, text.size, file);
    cli_bytes_finish(&text);
    const bool is_written = cli_check_written(file, path);
    fclose(file);
    return is_written;
}

// Returns the name of a model by the layers of its encoder, as whisper-cli has it.
static const char *name_size(uint32_t n_layer)
{
    static const struct {
        uint32_t n_layer;
        const char *name;
    } sizes[] = {{4, "tiny"}, {6, "base"}, {12, "small"}, {24, "medium"}, {32, "large"}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (sizes[i].n_layer == n_layer) {
            return sizes[i].name;
        }
    }
    return "unknown";
}

static bool write_files(const struct transcribe *self, const struct cli_hearing *hearing,
                        const char *name)
{
    const struct settings *settings = self->settings;
    const struct glinfer_model_info *info = &self->session.info;
    const char *language = cli_transcript_language(hearing->language, settings->params.language);
    const struct cli_transcript transcript = {
        .segments = hearing->segments.items,
        .n_segment = hearing->segments.count,
        .language = language,
        .asked = settings->params.language,
        .is_translation = settings->params.translate,
        .seconds = (double)hearing->n_sample / GLINFER_SPEECH_RATE,
        .model = {.path = self->session.path,
                  .type = name_size(info->n_encoder_layer),
                  .is_multilingual = info->n_language > 1,
                  .n_vocab = info->n_vocab,
                  .n_mel = info->n_mel,
                  .ftype = info->file_type,
                  .audio = {info->n_encoder_ctx, info->n_embd, info->n_head, info->n_encoder_layer},
                  .text = {info->n_ctx_train, info->n_embd, info->n_head, info->n_layer}},
    };
    const char *stem = settings->output ? settings->output : strcmp(name, "-") == 0 ? "out" : name;
    bool ok = true;
    for (int i = 0; ok && i < CLI_TRANSCRIPT_FORMATS; i++) {
        ok = !settings->formats[i] || write_file(&transcript, (enum cli_transcript_format)i, stem);
    }
    return ok;
}

//-- the command -----------------------------------------------------------------------------------

// Transcribes a file, or the microphone if name is NULL.
static bool transcribe(struct transcribe *self, const char *name)
{
    const struct settings *settings = self->settings;
    struct glinfer_error err;
    const bool is_raw = settings->encoding || strcmp(name ? name : "", "-") == 0;
    struct cli_hearing hearing = {
        .transcription = self->transcription,
        .sound = name ? cli_sound_open(name, is_raw ? &self->pcm : NULL, &err) : NULL,
        .microphone = name ? NULL : cli_microphone_open(settings->microphone, &err),
        .bar = &self->session.bar,
        .is_live = settings->is_live || !name,
        .only_language = settings->only_language,
        .has_times = !settings->no_times,
        .segments.offset_ms = settings->from_ms,
    };
    if (!hearing.sound && !hearing.microphone) {
        return cli_fail_error(&err);
    }
    if (hearing.sound) {
        cli_sound_cut(hearing.sound, (uint32_t)settings->from_ms, (uint32_t)settings->duration_ms);
    }
    if (settings->files.count > 1 && !cli_is_quiet()) {
        cli_tell("%s", name);
    }
    const bool is_done =
        cli_hearing_run(&hearing) &&
        (settings->only_language || write_files(self, &hearing, name ? name : "microphone"));
    cli_hearing_finish(&hearing);
    cli_sound_close(hearing.sound);
    cli_microphone_close(hearing.microphone);
    glinfer_transcription_reset(self->transcription);
    return is_done;
}

static bool transcribe_all(struct transcribe *self)
{
    const struct cli_texts *files = &self->settings->files;
    bool ok = files->count > 0 || transcribe(self, NULL);
    // A sound that fails does not stop the others; an output that fails does.
    for (size_t i = 0; i < files->count && !cli_is_interrupted() && !ferror(stdout); i++) {
        ok = transcribe(self, files->items[i]) && ok;
    }
    return cli_close_output() && ok;
}

// Refuses files that cannot be opened before the model is loaded, and the value of whisper-cli's
// -wt, which would be the name of a file.
static bool check_files(const struct settings *settings)
{
    for (size_t i = 0; i < settings->files.count; i++) {
        const char *name = settings->files.items[i];
        if (strcmp(name, "-") == 0 || access(name, R_OK) == 0) {
            continue;
        }
        const bool is_number = *name && name[strspn(name, "0123456789.")] == 0;
        return settings->params.has_words && is_number
                   ? cli_fail(CLI_EXIT_USAGE, "invalid -wt %s: it takes no value", name)
                   : cli_fail(CLI_EXIT_FAILED, "cannot read %s: %s", name, strerror(errno));
    }
    return true;
}

// Refuses a folder that transcripts cannot be written to, before hours of sound are transcribed.
static bool check_folder(const char *stem)
{
    char *folder = cli_copy(stem), *name = strrchr(folder, '/');
    if (name) {
        name[name == folder] = 0;
    }
    const bool is_ok = access(name ? folder : ".", W_OK) == 0;
    const int reason = errno;
    free(folder);
    return is_ok || cli_fail(CLI_EXIT_FAILED, "cannot write %s.*: %s%s", stem, strerror(reason),
                             reason == ENOENT ? "" : "; -of names another place");
}

// Refuses an output file for several sounds, and folders that cannot be written to.
static bool check_output(const struct settings *settings)
{
    const struct cli_texts *files = &settings->files;
    bool writes = false;
    for (int i = 0; i < CLI_TRANSCRIPT_FORMATS; i++) {
        writes = writes || settings->formats[i];
    }
    if (writes && settings->only_language) {
        return cli_fail(CLI_EXIT_USAGE, "-dl writes no files: leave out -otxt and other formats");
    }
    if (settings->output && !writes) {
        cli_note("-of has no effect without -otxt or another format");
    }
    if (settings->output && writes && files->count > 1) {
        return cli_fail(CLI_EXIT_USAGE,
                        "cannot write the texts of %zu files to one -of: leave it "
                        "out, and each is written beside its sound",
                        files->count);
    }
    bool ok = !writes || !settings->output || check_folder(settings->output);
    for (size_t i = 0; ok && writes && !settings->output && i < files->count; i++) {
        ok = check_folder(files->items[i]);
    }
    return ok;
}

// Says which flags have no effect.
static void note_flags(const struct settings *settings)
{
    bool is_raw = settings->encoding || settings->files.count == 0;
    for (size_t i = 0; i < settings->files.count; i++) {
        is_raw = is_raw || strcmp(settings->files.items[i], "-") == 0;
    }
    if (!is_raw && (settings->rate != GLINFER_SPEECH_RATE || settings->channels != 1)) {
        cli_note(
            "--rate and --channels have no effect on a sound file; --format reads raw samples");
    }
    if (settings->params.has_words && !settings->formats[CLI_TRANSCRIPT_JSON_FULL]) {
        cli_note("-wt has no effect without -ojf");
    }
}

// Refuses a language that -dl would ignore, and an invalid regular expression.
static bool check_text(const struct settings *settings)
{
    struct glinfer_error err;
    if (settings->only_language && strcmp(settings->params.language, "auto") != 0) {
        return cli_fail(CLI_EXIT_USAGE, "-dl and -l exclude each other");
    }
    return glinfer_transcription_check(&settings->params, &err) ||
           cli_fail(CLI_EXIT_USAGE, "--suppress-regex: %s", err.message);
}

// Refuses a microphone that cannot be opened before the model is loaded.
static bool check_microphone(const char *name)
{
    struct glinfer_error err;
    struct cli_microphone *microphone = name ? cli_microphone_open(name, &err) : NULL;
    cli_microphone_close(microphone);
    return !name || microphone || cli_fail_error(&err);
}

// Checks the flags of the sound and sets self->pcm.
static bool check_sound(struct transcribe *self)
{
    const struct settings *settings = self->settings;
    self->pcm = (struct cli_pcm){.rate = (uint32_t)settings->rate,
                                 .n_channels = (uint32_t)settings->channels};
    if (settings->encoding && !cli_pcm_set_encoding(&self->pcm, settings->encoding)) {
        return cli_fail(CLI_EXIT_USAGE, "invalid --format \"%s\": expected one of %s",
                        settings->encoding, cli_pcm_encodings());
    }
    if ((settings->microphone != NULL) + (settings->files.count > 0) == 1) {
        return check_files(settings);
    }
    return settings->microphone
               ? cli_fail(CLI_EXIT_USAGE, "a file and --mic exclude each other")
               : cli_fail(CLI_EXIT_USAGE, "no sound: give a file, - for standard input, or --mic");
}

static bool check_model(const struct settings *settings, struct cli_session *session)
{
    const struct glinfer_transcription_params *params = &settings->params;
    const char *model = session->flags->model;
    if (!cli_session_check(session)) {
        return false;
    }
    if (!session->info.is_speech) {
        return cli_fail(CLI_EXIT_FAILED,
                        "%s generates text and does not transcribe: take a Whisper model, such as "
                        "whisper-base",
                        model);
    }
    if (strcmp(params->language, "auto") != 0 &&
        cli_language_find(params->language) >= session->info.n_language) {
        return cli_fail(CLI_EXIT_USAGE, "invalid -l %s: %s does not know it%s", params->language,
                        model, session->info.n_language > 1 ? "" : ", it knows English alone");
    }
    return session->info.n_language > 1 || !(params->translate || settings->only_language) ||
           cli_fail(CLI_EXIT_USAGE, "invalid %s: %s knows English alone",
                    params->translate ? "-tr" : "-dl", model);
}

static bool run_command(void *user)
{
    struct transcribe self = {.settings = user};
    if (!check_output(self.settings) || !check_sound(&self) || !check_text(self.settings) ||
        !check_microphone(self.settings->microphone)) {
        return false;
    }
    note_flags(self.settings);
    cli_session_init(&self.session, &self.settings->session);
    cli_catch_interrupts();
    const bool is_done = check_model(self.settings, &self.session) && find_vad(&self) &&
                         cli_session_load(&self.session) && start(&self) && transcribe_all(&self);
    glinfer_transcription_destroy(&self.transcription);
    cli_session_finish(&self.session);
    return is_done;
}

static const struct cli_rule rules[] = {
    CLI_NEEDS("-sow", "-ml"),     CLI_EXCLUDES("--no-vad", "-vm"), CLI_EXCLUDES("--exact", "-ac"),
    CLI_EXCLUDES("--mic", "-ot"), CLI_EXCLUDES("--mic", "-d"),     {NULL, NULL, false},
};

const struct cli_command cli_transcribe_command = {
    .name = "transcribe",
    .usage = "-m MODEL FILE... | --mic DEVICE [flags]",
    .summary = "Writes the text of speech.",
    .text = "    glinfer pull whisper-base && glinfer pull silero-vad\n"
            "    glinfer transcribe -m whisper-base talk.mp3 -osrt\n"
            "    arecord -f S16_LE -r 16000 | glinfer transcribe -m whisper-base --live -",
    .common = "-m, -hf, -dev, -v, -q, -f, --mic, --live, -l, -tr, --prompt, -nt, -wt, -otxt, "
              "-osrt, -ovtt, -oj, -ojf, -of, --format, --rate, -bs, --no-vad, -vm",
    .rules = rules,
    .needs_model = true,
    .model = "FILE, or a name such as whisper-base",
    .takes_words = true,
    .words = offsetof(struct settings, files),
    CLI_SESSION_COMMAND(flags, defaults, run_command),
};
