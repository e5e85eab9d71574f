// Talks to the server. Addresses are relative, so that the page also works below a path of a proxy.

const KEY_NAME = "glinfer.key";

// The server's facts: the tokens of its context, the answers at a time, and the settings of requests that give none.
const server = { limit: 0, defaults: {}, name: "", slots: 1 };

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
        // The key lasts as long as the page then.
    }
}

// An answer of the server that is none. Status 0: it did not answer.
class Refusal extends Error {
    constructor(status, message, retrySeconds = 0) {
        super(message);
        this.status = status;
        this.retrySeconds = retrySeconds;
    }
}

async function readRefusal(response) {
    const body = await response.json().catch(() => null);
    const message = body?.error?.message ?? `The server answers with status ${response.status}.`;
    return new Refusal(response.status, message, Number(response.headers.get("Retry-After")) || 0);
}

// Returns the response to a request; a body makes it a POST. Throws a Refusal, or an AbortError.
async function request(path, body, signal) {
    const key = readKey();
    const headers = { ...(key && { Authorization: `Bearer ${key}` }), ...(body && { "Content-Type": "application/json" }) };
    let response;
    try {
        response = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal });
    } catch (error) {
        throw signal?.aborted ? error : new Refusal(0, "The server cannot be reached.");
    }
    if (!response.ok) {
        throw await readRefusal(response);
    }
    return response;
}

// Yields the lines of a body as they come.
async function* readLines(response, signal) {
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
        const { done, value } = await reader.read().catch((error) => {
            throw signal.aborted ? error : new Refusal(0, "The connection broke.");
        });
        if (done) {
            return;
        }
        const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
        rest = lines.pop();
        yield* lines;
    }
}

// Yields the objects of a stream of events. Throws if it ends before its end.
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
    throw new Refusal(0, "The connection broke.");
}
