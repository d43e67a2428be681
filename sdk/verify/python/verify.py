"""Checks that a webhook comes from the marketplace.

For Python 3.8 and newer, with nothing but the standard library: copy the file.
"""
import base64
import hashlib
import hmac
import re
import time


def verify_webhook(secret, headers, body, now=None):
    """Check the signature of Standard Webhooks in the headers of a request over its raw body.

    secret is your webhook secret as it was shown to you; while it is being replaced, either the
    old or the new one verifies. headers is the mapping that your framework has (Flask and Django:
    request.headers), or a dict whose names are in lower case. body is the bytes as they arrived
    (Flask: request.get_data(); Django: request.body). now is in seconds.

    False: answer 401. It raises ValueError only if no webhook could be verified with the secret.
    """
    key = secret.encode()  # where the API key is the secret, its text is the key
    if secret.startswith("whsec_"):
        key = base64.b64decode(secret[6:], validate=True)
    if not key:
        raise ValueError("claviger: the webhook secret is empty or damaged; set it as it was shown to you, whsec_ included")
    parts = [headers.get(name) for name in ("webhook-id", "webhook-timestamp", "webhook-signature")]
    if not all(isinstance(part, str) for part in parts) or not isinstance(body, bytes):
        return False
    webhook_id, timestamp, signatures = parts
    now = time.time() if now is None else now
    if not re.fullmatch("[0-9]{1,12}", timestamp) or abs(now - int(timestamp)) > 5 * 60:
        return False
    signed = f"{webhook_id}.{timestamp}.".encode(errors="replace") + body
    want = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    return any(hmac.compare_digest(one.encode(errors="replace"), want) for one in signatures.split(" "))
