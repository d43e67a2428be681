// Checks that a webhook comes from the marketplace. For Node 20, Deno and Bun, without
// dependencies: copy the file if you do not want the package.
import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";

/**
 * Checks the signature of Standard Webhooks in the headers of a request over its raw body.
 * False: answer 401. It throws only if no webhook could be verified with the secret.
 *
 * @param {string} secret your webhook secret as it was shown to you; while it is being
 *   replaced, either the old or the new one verifies
 * @param {Headers | Record<string, string | string[] | undefined>} headers those of a
 *   fetch Request, or an object whose names are in lower case, as in Node
 * @param {Uint8Array} body the bytes as they arrived, before anything parsed them
 * @param {number} [now] milliseconds since 1970
 * @returns {boolean}
 */
export function verifyWebhook(secret, headers, body, now = Date.now()) {
  const text = secret.startsWith("whsec_") ? secret.slice(6) : null; // where the API key is the secret, its text is the key
  const key = text === null ? Buffer.from(secret) : Buffer.from(text, "base64");
  if (key.length === 0 || (text !== null && key.toString("base64") !== text)) {
    throw new TypeError("claviger: the webhook secret is empty or damaged; set it as it was shown to you, whsec_ included");
  }
  const header = (name) => (typeof headers?.get === "function" ? headers.get(name) : headers?.[name]);
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map(header);
  if (![id, timestamp, signatures].every((v) => typeof v === "string") || !(body instanceof Uint8Array)) return false;
  if (!/^[0-9]{1,12}$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > 5 * 60) return false;
  const want = Buffer.from("v1," + createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64"));
  return signatures.split(" ").some((one) => {
    const got = Buffer.from(one);
    return got.length === want.length && timingSafeEqual(got, want);
  });
}
