// Turns speech into the text of a message: records a microphone, and lets the server transcribe the sound so far while it
// grows and all of it at the end.

const SOUND_RATE = 16000; // samples a second
const PIECE_MS = 500;     // the recorder tells the sound so far at these intervals
const PARTIAL_S = 28;     // longer sound is not transcribed before its end

const MICROPHONE_FAILURES = {
    NotAllowedError: "The browser does not allow this page to use the microphone.",
    NotFoundError: "No microphone was found.",
    NotReadableError: "The microphone cannot be used: another program may have it.",
    EncodingError: "Nothing was recorded.",
};

// Names of the button, by the state of the dictation.
const MICROPHONE_LABELS = {
    idle: "Speak a message", opening: "Cancel", recording: "Stop recording", transcribing: "Cancel",
};
const PROMPT_HINTS = {
    idle: "Write a message", opening: "Waiting for the microphone…", recording: "Listening…", transcribing: "Transcribing…",
};

let dictation = null; // {state, stream, recorder, pieces, before, after, controller}; null: nothing is recorded

// Returns the reason why this page cannot record; "": it can.
function microphoneRefusal() {
    if (!isSecureContext) {
        return "The browser allows the microphone only for pages from https or localhost.";
    }
    return navigator.mediaDevices?.getUserMedia && window.MediaRecorder ? "" : "This browser cannot record sound.";
}

function setDictation(own, state) {
    const button = byId("microphone");
    dictation = state === "idle" ? null : own;
    own.state = state;
    button.dataset.state = state;
    setIcon(button, state === "recording" ? "stop" : "microphone");
    setLabel(button, MICROPHONE_LABELS[state]);
    byId("prompt").readOnly = dictation !== null;
    byId("prompt").placeholder = PROMPT_HINTS[state];
    updateComposer();
}

// Puts a spoken text in the place of the selection that the field had.
function showSpoken({ before, after }, text) {
    const prompt = byId("prompt");
    const head = before + (text && /\S$/.test(before) ? " " : "") + text;
    prompt.value = head + (text && /^\S/.test(after) ? " " : "") + after;
    prompt.setSelectionRange(head.length, head.length);
    growField(prompt);
    prompt.scrollTop = prompt.scrollHeight;
    updateComposer();
}

//-- the sound ---------------------------------------------------------------------------------------------------------

// Returns a recording as an AudioBuffer at SOUND_RATE.
async function decodeSound(pieces) {
    return new OfflineAudioContext(1, 1, SOUND_RATE).decodeAudioData(await new Blob(pieces).arrayBuffer());
}

// Returns the first channel as a WAV file of 16 bits.
function makeWave(sound) {
    const samples = sound.getChannelData(0);
    const view = new DataView(new ArrayBuffer(44 + 2 * samples.length));
    const write = (at, text) => [...text].forEach((letter, i) => view.setUint8(at + i, letter.charCodeAt(0)));
    write(0, "RIFF");
    view.setUint32(4, 36 + 2 * samples.length, true);
    write(8, "WAVEfmt ");
    [16, 0x10001, SOUND_RATE, 2 * SOUND_RATE, 0x100002].forEach((word, i) => view.setUint32(16 + 4 * i, word, true));
    write(36, "data");
    view.setUint32(40, 2 * samples.length, true);
    samples.forEach((sample, i) => view.setInt16(44 + 2 * i, 32767 * Math.max(-1, Math.min(1, sample)), true));
    return new Blob([view], { type: "audio/wav" });
}

async function requestText(own, sound, isPartial) {
    const form = new FormData();
    form.append("file", makeWave(sound), "speech.wav");
    if (isPartial) {
        form.append("temperature_inc", "0"); // a single attempt
    }
    own.controller = new AbortController();
    const response = await request("v1/audio/transcriptions", form, own.controller.signal);
    return (await response.json()).text.trim();
}

//-- a dictation -------------------------------------------------------------------------------------------------------

// Shows the text of the sound so far. A failure here is one at the end, too, and is told there.
async function transcribeSoFar(own) {
    if (own.isAsking || own.state !== "recording" || own.pieces.length * PIECE_MS > 1000 * PARTIAL_S) {
        return;
    }
    own.isAsking = true;
    try {
        const sound = await decodeSound(own.pieces);
        const text = own.state === "recording" && (await requestText(own, sound, true));
        if (text && own.state === "recording") {
            showSpoken(own, text);
        }
    } catch {
        // The next piece tries again.
    }
    own.isAsking = false;
}

async function transcribeAll(own) {
    const sound = await decodeSound(own.pieces);
    try {
        return await requestText(own, sound, false);
    } catch (error) {
        if (error.status !== 401 || !(await askForKey(true))) {
            throw error;
        }
        return requestText(own, sound, false);
    }
}

// Shows the text of the whole recording. After a failure the text so far stays.
async function endRecording(own) {
    if (own !== dictation) {
        return;
    }
    own.controller?.abort();
    setDictation(own, "transcribing");
    try {
        const text = await transcribeAll(own);
        if (own !== dictation) {
            return;
        }
        showSpoken(own, text);
        announce(text);
        if (text === "") {
            showToast("No speech was heard.");
        }
    } catch (error) {
        if (own !== dictation) {
            return;
        }
        showToast(MICROPHONE_FAILURES[error.name] ?? error.message);
    }
    setDictation(own, "idle");
    focusPrompt();
}

function closeMicrophone(own) {
    own.stream?.getTracks().forEach((track) => track.stop());
}

async function startDictation() {
    const { value, selectionStart, selectionEnd } = byId("prompt");
    const own = { pieces: [], before: value.slice(0, selectionStart), after: value.slice(selectionEnd) };
    setDictation(own, "opening");
    try {
        own.stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } });
        if (own !== dictation) {
            closeMicrophone(own);
            return;
        }
        own.recorder = new MediaRecorder(own.stream);
        own.recorder.ondataavailable = (event) => {
            own.pieces.push(event.data);
            transcribeSoFar(own);
        };
        own.recorder.onstop = () => {
            closeMicrophone(own);
            endRecording(own);
        };
        own.recorder.start(PIECE_MS);
        setDictation(own, "recording");
        announce(PROMPT_HINTS.recording);
    } catch (error) {
        closeMicrophone(own);
        if (own === dictation) {
            setDictation(own, "idle");
            showToast(MICROPHONE_FAILURES[error.name] ?? `The microphone cannot be used: ${error.message}`);
        }
    }
}

// Ends the dictation and leaves the field as it was before. Returns false without one.
function cancelDictation() {
    const own = dictation;
    if (!own) {
        return false;
    }
    setDictation(own, "idle");
    own.controller?.abort();
    closeMicrophone(own);
    showSpoken(own, "");
    focusPrompt();
    return true;
}

// Ends a recording, whose text follows. Returns false if nothing is recorded.
function stopRecording() {
    if (dictation?.state !== "recording") {
        return false;
    }
    dictation.recorder.stop();
    return true;
}

function pressMicrophone() {
    const refusal = microphoneRefusal();
    if (refusal) {
        showToast(refusal);
    } else if (!stopRecording() && !cancelDictation()) {
        startDictation();
    }
}

// Shows the button if the server transcribes; where the page cannot record, its title says why.
function showMicrophone(hasSpeech) {
    const button = byId("microphone");
    const refusal = microphoneRefusal();
    button.hidden = !hasSpeech;
    byId("composer").classList.toggle("has-microphone", hasSpeech);
    button.setAttribute("aria-disabled", String(refusal !== ""));
    if (refusal) {
        setLabel(button, refusal);
    }
    button.onclick = pressMicrophone;
}
