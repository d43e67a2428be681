/** The configuration of a client. */
export interface Config {
  /** The address of the service, such as https://licenses.example.com. */
  url: string;
  /** Your API key, or an operator token. */
  key: string;
  /** Number of retries after 429 and 503, for requests that are safe to repeat; 2 if left out. */
  retries?: number;
  /** Timeout of a request in milliseconds; 30000 if left out. */
  timeout?: number;
  /** Replaces the platform's fetch. */
  fetch?: typeof fetch;
}

/** A refusal by the service. The message names the mistake and its remedy. */
export class ClavigerError extends Error {
  override readonly name = "ClavigerError";
  readonly status: number;
  /** Stable, for programs: invalid_parameter, license_refunded, invalid_grant and so on. */
  readonly code: string;
  readonly requestId: string;
  /** The whole body of the answer. */
  readonly body: unknown;

  constructor(status: number, text: string) {
    let body: unknown = text;
    try {
      body = JSON.parse(text);
    } catch {
      // It comes from a proxy, not from the service.
    }
    const { error, message, error_description, request_id } = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
    super(String(message ?? error_description ?? `The service answered ${status}.`));
    this.status = status;
    this.code = String(error ?? "");
    this.requestId = String(request_id ?? "");
    this.body = body;
  }
}

/** Options of a call, in addition to its input. */
export interface Options {
  signal?: AbortSignal;
  /** Makes the service execute a repeated request once. Orders and refunds need it, or an external_id. */
  idempotencyKey?: string;
  /** For a text body that is not JSON, such as text/csv. */
  contentType?: string;
}

/** The input of a call, which may be left out if nothing in it is required. */
export type Input<Operation> = Omit<Operation, "answer"> & Options;
export type Arguments<Operation> = {} extends Input<Operation> ? [input?: Input<Operation>] : [input: Input<Operation>];
export type Answer<Operation> = Operation extends { answer: infer A } ? A : never;

/** The calls that return a list, and its items. */
export type Lists<Operations> = { [K in keyof Operations]: Operations[K] extends { answer: { items: unknown[] } } ? K : never }[keyof Operations];
export type Item<Operation> = Operation extends { answer: { items: Array<infer T> } } ? T : never;

/** The parts of an input, for any operation. */
interface AnyInput extends Options {
  path?: Record<string, unknown>;
  query?: Record<string, unknown>;
  body?: unknown;
}

const longestWait = 30_000;

/** Calls one of the APIs. An operation has its name from the API's description, such as "GET /v2/licenses". */
export class Client<Operations> {
  readonly #base: string;
  readonly #config: Config;

  constructor(config: Config) {
    const url = new URL(config.url);
    if (!["http:", "https:"].includes(url.protocol) || url.username !== "" || url.search !== "" || url.hash !== "") {
      throw new TypeError(`claviger: url must be an address such as https://licenses.example.com, not ${url.origin}`);
    }
    if (!config.key) throw new TypeError("claviger: key is empty; give your API key");
    this.#base = url.origin + url.pathname.replace(/\/+$/, "");
    this.#config = config;
  }

  /** Calls an operation and returns its answer: JSON or text. */
  async call<K extends keyof Operations & string>(operation: K, ...[input]: Arguments<Operations[K]>): Promise<Answer<Operations[K]>> {
    const [method, target] = targetOf(operation, (input ?? {}) as AnyInput);
    const response = await this.#send(method, target, (input ?? {}) as AnyInput);
    return (await read(response)) as Answer<Operations[K]>;
  }

  /** Reads a whole list, page by page. */
  async *list<K extends Lists<Operations> & string>(operation: K, ...[input]: Arguments<Operations[K]>): AsyncGenerator<Item<Operations[K]>, void, undefined> {
    const given = (input ?? {}) as AnyInput;
    let [method, target] = targetOf(operation, given);
    for (;;) {
      const response = await this.#send(method, target, given);
      const page = (await read(response)) as { items: Array<Item<Operations[K]>> };
      yield* page.items;
      const next = /<([^>]*)>\s*;\s*rel="?next"?/.exec(response.headers.get("Link") ?? "")?.[1];
      if (next === undefined) return;
      const { pathname, search } = new URL(next, this.#base); // its host is the public one, which may differ
      target = pathname + search;
    }
  }

  async #send(method: string, target: string, input: AnyInput): Promise<Response> {
    const { key, retries = 2, timeout = 30_000, fetch = globalThis.fetch } = this.#config;
    const headers: Record<string, string> = { Authorization: `Bearer ${key}`, Accept: "application/json" };
    const text = typeof input.body === "string" ? input.body : JSON.stringify(input.body);
    if (text !== undefined) headers["Content-Type"] = typeof input.body === "string" ? (input.contentType ?? "text/plain") : "application/json";
    if (input.idempotencyKey !== undefined) headers["Idempotency-Key"] = input.idempotencyKey;
    const repeatable = method === "GET" || input.idempotencyKey !== undefined;
    for (let attempt = 0; ; attempt++) {
      const limit = AbortSignal.timeout(timeout);
      const response = await fetch(this.#base + target, {
        method, headers, redirect: "error",
        signal: input.signal ? AbortSignal.any([input.signal, limit]) : limit,
        ...(text === undefined ? {} : { body: text }),
      });
      if (response.ok) return response;
      const refusal = await response.text();
      const wait = Number(response.headers.get("Retry-After") ?? "1") * 1000;
      const again = (response.status === 429 || response.status === 503) && repeatable && attempt < retries && wait >= 0 && wait <= longestWait;
      if (!again) throw new ClavigerError(response.status, refusal);
      await pause(wait, input.signal);
    }
  }
}

/** The method of an operation, and its path with the input filled in. */
function targetOf(operation: string, input: AnyInput): [method: string, target: string] {
  const [method = "", template = ""] = operation.split(" ");
  const path = template.replace(/\{([a-z_]+)\}/g, (_, name: string) => {
    const value = input.path?.[name];
    if (value === undefined || value === "") throw new TypeError(`claviger: ${operation} needs path.${name}`);
    return encodeURIComponent(String(value));
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(input.query ?? {})) {
    if (value !== undefined) query.set(name, String(value));
  }
  return [method, query.size > 0 ? `${path}?${query}` : path];
}

async function read(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined;
  return response.headers.get("Content-Type")?.startsWith("application/json") ? response.json() : response.text();
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
