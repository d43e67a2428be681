import { ClavigerError, Client, type Answer, type Config } from "./client.ts";
import type { Operations, TokenRequest, Tokens } from "./oauth.ts";

/** The configuration for connecting buyers with your application. */
export interface ConnectConfig extends Omit<Config, "key"> {
  clientId: string;
  clientSecret: string;
  /** The saved redirect URL, character for character. */
  redirectUri: string;
}

/** The license that a buyer connected. */
export type ConnectedLicense = Answer<Operations["GET /openid/license_key"]>;

/** Connects buyers: from the redirect with a code to tokens, and on to the license. */
export class Connect {
  readonly #config: ConnectConfig;

  constructor(config: ConnectConfig) {
    this.#config = config;
  }

  /** Returns the address for buyers who begin at your application. Compare the state when they return. */
  authorizeUrl(state: string, more: Record<string, string> = {}): string {
    const { url, clientId, redirectUri } = this.#config;
    const query = new URLSearchParams({ response_type: "code", client_id: clientId, redirect_uri: redirectUri, scope: "openid", state, ...more });
    return `${url.replace(/\/+$/, "")}/openid/authorize?${query}`;
  }

  /** Exchanges the code of a redirect. It works once. */
  exchange(code: string, codeVerifier?: string): Promise<Tokens> {
    return this.#tokens({
      grant_type: "authorization_code", code, redirect_uri: this.#config.redirectUri,
      ...(codeVerifier === undefined ? {} : { code_verifier: codeVerifier }),
    });
  }

  /** Replaces both tokens after the access token has expired. */
  refresh(refreshToken: string): Promise<Tokens> {
    return this.#tokens({ grant_type: "refresh_token", refresh_token: refreshToken });
  }

  /** Reads which license the buyer connected. */
  license(accessToken: string): Promise<ConnectedLicense> {
    return new Client<Operations>({ ...this.#config, key: accessToken }).call("GET /openid/license_key");
  }

  #tokens(request: TokenRequest): Promise<Tokens> {
    const { clientId, clientSecret, url, fetch = globalThis.fetch, timeout = 30_000 } = this.#config;
    return post(fetch, `${url.replace(/\/+$/, "")}/openid/token`, timeout, { ...request, client_id: clientId, client_secret: clientSecret });
  }
}

async function post(send: typeof fetch, url: string, timeout: number, form: TokenRequest): Promise<Tokens> {
  const response = await send(url, {
    method: "POST", redirect: "error", signal: AbortSignal.timeout(timeout), body: new URLSearchParams(form as unknown as Record<string, string>),
  });
  if (!response.ok) throw new ClavigerError(response.status, await response.text());
  return (await response.json()) as Tokens;
}
