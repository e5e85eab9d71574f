// Talks to the server. Addresses are relative, so that the page also works below a path of a proxy.

const KEY_NAME = "glinfer.key";

// Limits of the server: tokens of its context, answers at a time, and the default settings of requests.
const server = { limit: 0, defaults: {}, name: "", slots: 1, model: undefined }; // model: of requests, if there are several

function readKey() {
    try {
        return sessionStorage.getItem(KEY_NAME) ?? localStorage.getItem(KEY_NAME) ?? "";
    } catch {
        return readKey.last ?? "";
    }
}

function writeKey(key, isKept) {
    readKey.last = key;
    try {
        localStorage.removeItem(KEY_NAME);
        sessionStorage.removeItem(KEY_NAME);
        (isKept ? localStorage : sessionStorage).setItem(KEY_NAME, key);
    } catch {
        // Then the key lasts as long as the page.
    }
}

// An error of the server. Status 0: no reply.
class Refusal extends Error {
    constructor(status, message, retrySeconds = 0) {
        super(message);
        this.status = status;
        this.retrySeconds = retrySeconds;
    }
}

async function readRefusal(response) {
    const body = await response.json().catch(() => null);
    const message = body?.error?.message ?? `The server replied with status ${response.status}.`;
    return new Refusal(response.status, message, Number(response.headers.get("Retry-After")) || 0);
}

// Returns the response to a request; a body, an object or a FormData, makes it a POST. Throws a Refusal, or an AbortError.
async function request(path, body, signal) {
    const key = readKey();
    const isJson = body && !(body instanceof FormData);
    const headers = { ...(key && { Authorization: `Bearer ${key}` }), ...(isJson && { "Content-Type": "application/json" }) };
    let response;
    try {
        response = await fetch(path, { method: body ? "POST" : "GET", headers, body: isJson ? JSON.stringify(body) : body, signal });
    } catch (error) {
        throw signal?.aborted ? error : new Refusal(0, "Cannot reach the server.");
    }
    if (!response.ok) {
        throw await readRefusal(response);
    }
    return response;
}

// Yields the lines of a body as they arrive.
async function* readLines(response, signal) {
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
        const { done, value } = await reader.read().catch((error) => {
            throw signal.aborted ? error : new Refusal(0, "The connection was lost.");
        });
        if (done) {
            return;
        }
        const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
        rest = lines.pop();
        yield* lines;
    }
}

// Yields the objects of a stream of events. Throws if the stream is cut.
async function* readEvents(response, signal) {
    for await (const line of readLines(response, signal)) {
        const data = line.startsWith("data:") ? line.slice(5).trim() : "";
        if (data === "[DONE]") {
            return;
        }
        const event = data && JSON.parse(data);
        if (event?.error) {
            throw new Refusal(event.error.code || 500, event.error.message);
        }
        if (event) {
            yield event;
        }
    }
    throw new Refusal(0, "The connection was lost.");
}
