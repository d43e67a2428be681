"""A complete partner application in one file. It needs only Python 3.8 or newer.

It verifies webhooks, stores the licenses in them, and connects buyers: they return from the
marketplace with a code, which it exchanges for their license. Start it beside `claviger dev`,
which prints the values:

    export MARKET_URL=… CLIENT_ID=… CLIENT_SECRET=… WEBHOOK_SECRET=…
    REDIRECT_URL=http://127.0.0.1:3000/callback DATABASE=licenses.db PORT=3000 python3 app.py

Your application already has accounts and a database: use them instead of Store and the cookie.
"""
import base64
import hashlib
import hmac
import html
import json
import os
import re
import secrets
import sqlite3
import time
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

try:
    MARKET, CLIENT_ID, CLIENT_SECRET, WEBHOOK_SECRET, REDIRECT_URL, DATABASE, PORT = (
        os.environ[name] for name in ("MARKET_URL", "CLIENT_ID", "CLIENT_SECRET", "WEBHOOK_SECRET", "REDIRECT_URL", "DATABASE", "PORT"))
except KeyError as missing:
    raise SystemExit(f"set {missing.args[0]} in the environment; the beginning of this file says how")


class Store:
    """The state of each license, and its account."""

    def __init__(self):
        with self.open() as db:
            db.execute("""CREATE TABLE IF NOT EXISTS licenses (
                license_key TEXT PRIMARY KEY, status TEXT NOT NULL, tier INTEGER NOT NULL, event_id INTEGER NOT NULL, account TEXT)""")

    def open(self):
        return sqlite3.connect(DATABASE, timeout=5)  # as a context, it commits at the end

    def apply(self, event):
        """Apply an event. An event that is not newer than the stored state changes nothing, so
        events may come twice and in any order. A license that its buyer gave up, or lost to another
        one, belongs to no account until it is connected again."""
        with self.open() as db:
            db.execute("""INSERT INTO licenses (license_key, status, tier, event_id) VALUES (?, ?, ?, ?)
                ON CONFLICT (license_key) DO UPDATE SET status = excluded.status, tier = excluded.tier, event_id = excluded.event_id,
                    account = CASE WHEN ? IN ('released', 'transferred', 'user_erased') THEN NULL ELSE account END
                WHERE excluded.event_id > licenses.event_id""",
                (event["license_key"], event["license_status"], event["tier"], event["event_id"], event["reason"]))

    def connect(self, account, license):
        """Connect a license with an account. Its webhook has usually arrived before; if not, the
        marketplace's answer is used until it arrives."""
        with self.open() as db:
            db.execute("INSERT INTO licenses (license_key, status, tier, event_id) VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING",
                       (license["license_key"], license["status"], license["tier"]))
            db.execute("UPDATE licenses SET account = ? WHERE license_key = ?", (account, license["license_key"]))

    def best(self, account):
        """Return the account's license with the most rights, as (key, status, tier)."""
        with self.open() as db:
            return db.execute("""SELECT license_key, status, tier FROM licenses WHERE account = ?
                ORDER BY status = 'active' DESC, tier DESC LIMIT 1""", (account,)).fetchone()


def verify_webhook(secret, headers, body, now=None):
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


def license_of(code):
    """Exchange a code for tokens, and a token for the license that the buyer connects."""
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT_URL, "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
    with urllib.request.urlopen(MARKET + "/openid/token/", urllib.parse.urlencode(form).encode(), timeout=10) as answer:
        token = json.load(answer)["access_token"]
    request = urllib.request.Request(MARKET + "/openid/license_key/", headers={"Authorization": "Bearer " + token})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


class Application(BaseHTTPRequestHandler):
    timeout = 10  # seconds, for clients that send nothing
    store = Store()

    def do_POST(self):
        if self.path != "/webhook":
            return self.page(404, "There is no such page.")
        length = self.headers.get("Content-Length") or "0"
        if not re.fullmatch("[0-9]{1,5}", length):
            return self.answer(413, "application/json", '{"success":false}')
        body = self.rfile.read(int(length))
        if not verify_webhook(WEBHOOK_SECRET, self.headers, body):
            return self.answer(401, "application/json", '{"success":false}')
        try:
            event = json.loads(body)
            if not event["test"]:
                self.store.apply(event)
        except Exception as err:  # not stored: the marketplace sends it again
            self.log_error("the event is not stored: %r", err)
            return self.answer(500, "application/json", '{"success":false}')
        self.answer(200, "application/json", '{"success":true}')

    def do_GET(self):
        path, _, query = self.path.partition("?")
        pages = {"/": self.home, "/connect": self.connect, "/callback": self.callback}
        pages.get(path, lambda _: self.page(404, "There is no such page."))(dict(urllib.parse.parse_qsl(query)))

    def home(self, _):
        found = self.store.best(self.cookie("account"))
        if found is None:
            return self.page(200, "No license is connected.", "/connect")
        key, status, tier = found
        self.page(200, f"License {key} is {status}: " + (f"you have what tier {tier} promises." if status == "active" else "it gives you nothing now."))

    def connect(self, _):
        """Start the connection for buyers who begin here, not with Activate at the marketplace."""
        state = secrets.token_hex(16)
        query = {"response_type": "code", "client_id": CLIENT_ID, "redirect_uri": REDIRECT_URL, "scope": "openid", "state": state}
        self.redirect(MARKET + "/openid/authorize?" + urllib.parse.urlencode(query), f"state={state}")

    def callback(self, query):
        """Handle returning buyers. A state must belong to this browser; without one they began at
        the marketplace."""
        if "code" not in query:
            return self.page(200, "You did not connect a license." if "error" in query else "The marketplace sends buyers here.", "/connect")
        if "state" in query and query["state"] != self.cookie("state"):
            return self.page(400, "This answer is not for this browser. Begin again.", "/connect")
        try:
            license = license_of(query["code"])
        except Exception as err:
            self.log_error("the code was not exchanged: %r", err)
            return self.page(400, "The license could not be connected. Begin again.", "/connect")
        account = self.cookie("account") or secrets.token_hex(16)
        self.store.connect(account, license)
        self.redirect("/", f"account={account}")

    def cookie(self, name):
        found = re.search(f"(?:^|; ){name}=([0-9a-f]{{32}})(?:;|$)", self.headers.get("Cookie", ""))
        return found[1] if found else ""

    def redirect(self, to, cookie):
        secure = "; Secure" if REDIRECT_URL.startswith("https:") else ""
        self.answer(303, "text/plain", "", {"Location": to, "Set-Cookie": cookie + "; Path=/; HttpOnly; SameSite=Lax" + secure})

    def page(self, status, text, link=None):
        link = f'<p><a href="{link}">Connect a license</a></p>' if link else ""
        self.answer(status, "text/html; charset=utf-8",
                    f'<!doctype html><html lang="en"><title>Sample application</title><h1>Sample application</h1><p>{html.escape(text)}</p>{link}')

    def answer(self, status, kind, text, headers={}):
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(text.encode())), "Cache-Control": "no-store", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())


if __name__ == "__main__":
    verify_webhook(WEBHOOK_SECRET, {}, b"")  # a damaged secret is found now
    ThreadingHTTPServer(("127.0.0.1", int(PORT)), Application).serve_forever()
