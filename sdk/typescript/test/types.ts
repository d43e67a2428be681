// Compiled, never run: uses that the types accept and refuse.
import { Connect, OperatorClient, PartnerClient, type partner } from "claviger-client";
import { verifyWebhook } from "claviger-client/verify";

const client = new PartnerClient({ url: "https://licenses.example.com", key: "lk_…" });

export async function right(): Promise<partner.WebhookBody | undefined> {
  const license: partner.License = await client.call("GET /v2/licenses/{license_key}", { path: { license_key: "…" } });
  const tier: number = license.tier;
  for await (const one of client.list("GET /v2/licenses", { query: { status: "active", limit: 100 } })) console.log(one.license_key, tier);
  for await (const event of client.list("GET /v2/licenses/events")) console.log(event.responses.items[0]?.success);
  const contact = await client.call("POST /v2/profile/contact", { body: { email: "ops@example.com", name: "Ops" } });
  const deleted: string = await client.call("DELETE /v2/profile/contact/{contact_id}", { path: { contact_id: contact.contact_id } });
  const connect = new Connect({ url: "https://licenses.example.com", clientId: "…", clientSecret: "…", redirectUri: "https://app.example.com/callback" });
  const key: string = (await connect.license((await connect.exchange(deleted)).access_token)).license_key;
  await new OperatorClient({ url: key, key }).call("POST /operator/v1/purchases", { body: { partner_id: 1, tier: 2 }, idempotencyKey: "order-1" });
  const ok: boolean = verifyWebhook("whsec_…", new Headers(), new Uint8Array());
  return ok ? (JSON.parse(key) as partner.WebhookBody) : undefined;
}

export function wrong() {
  // @ts-expect-error there is no such call
  void client.call("GET /v2/license");
  // @ts-expect-error it needs the key
  void client.call("GET /v2/licenses/{license_key}");
  // @ts-expect-error there is no such status
  void client.call("GET /v2/licenses", { query: { status: "expired" } });
  // @ts-expect-error there is no such parameter
  void client.call("GET /v2/licenses", { query: { state: "active" } });
  // @ts-expect-error a contact has a name
  void client.call("POST /v2/profile/contact", { body: { email: "ops@example.com" } });
  // @ts-expect-error one license is no list
  void client.list("GET /v2/licenses/{license_key}", { path: { license_key: "…" } });
}
