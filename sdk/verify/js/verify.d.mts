export function verifyWebhook(
  secret: string,
  headers: Headers | Record<string, string | string[] | undefined>,
  body: Uint8Array,
  now?: number,
): boolean;
