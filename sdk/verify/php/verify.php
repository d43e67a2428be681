<?php
// Checks that a webhook comes from the marketplace. For PHP 8, without dependencies: copy
// the file.

/**
 * Checks the signature of Standard Webhooks in the headers of a request over its raw body.
 * False: answer 401. It throws only if no webhook could be verified with the secret.
 *
 * @param string $secret your webhook secret as it was shown to you; while it is being replaced,
 *   either the old or the new one verifies
 * @param array<string, mixed> $headers getallheaders(), or any array from names to texts
 * @param string $body file_get_contents('php://input'), Laravel: $request->getContent()
 * @param ?float $now seconds since 1970
 */
function verify_webhook(string $secret, array $headers, string $body, ?float $now = null): bool {
    $text = str_starts_with($secret, 'whsec_') ? substr($secret, 6) : null; // where the API key is the secret, its text is the key
    $key = $text === null ? $secret : (string) base64_decode($text, true);
    if ($key === '' || ($text !== null && base64_encode($key) !== $text)) {
        throw new InvalidArgumentException('claviger: the webhook secret is empty or damaged; set it as it was shown to you, whsec_ included');
    }
    $headers = array_change_key_case($headers);
    [$id, $timestamp, $signatures] = array_map(fn ($name) => $headers[$name] ?? null, ['webhook-id', 'webhook-timestamp', 'webhook-signature']);
    if (!is_string($id) || !is_string($timestamp) || !is_string($signatures)) {
        return false;
    }
    if (!preg_match('/^[0-9]{1,12}$/D', $timestamp) || abs(($now ?? microtime(true)) - (float) $timestamp) > 5 * 60) {
        return false;
    }
    $want = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    foreach (explode(' ', $signatures) as $one) {
        if (hash_equals($want, $one)) {
            return true;
        }
    }
    return false;
}
