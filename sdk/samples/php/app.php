<?php
// A complete partner application in one file. It needs only PHP 8 and its SQLite.
//
// It verifies webhooks, stores the licenses in them, and connects buyers: they return from the
// marketplace with a code, which it exchanges for their license. Start it beside
// `claviger dev`, which prints the values:
//
//     export MARKET_URL=… CLIENT_ID=… CLIENT_SECRET=… WEBHOOK_SECRET=…
//     REDIRECT_URL=http://127.0.0.1:3000/callback DATABASE=licenses.db php -S 127.0.0.1:3000 app.php
//
// Your application already has accounts and a database: use them instead of the table and the
// cookie.

function setting(string $name): string {
    return getenv($name) ?: throw new RuntimeException("set $name in the environment; the beginning of this file says how");
}

// database has the state of each license, and its account.
function database(): PDO {
    $db = new PDO('sqlite:' . setting('DATABASE'), null, null, [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_TIMEOUT => 5]);
    $db->exec('CREATE TABLE IF NOT EXISTS licenses (
        license_key TEXT PRIMARY KEY, status TEXT NOT NULL, tier INTEGER NOT NULL, event_id INTEGER NOT NULL, account TEXT)');
    return $db;
}

// apply applies an event. An event that is not newer than the stored state changes nothing, so
// events may come twice and in any order. A license that its buyer gave up, or lost to another
// one, belongs to no account until it is connected again.
function apply(array $event): void {
    database()->prepare("INSERT INTO licenses (license_key, status, tier, event_id) VALUES (?, ?, ?, ?)
        ON CONFLICT (license_key) DO UPDATE SET status = excluded.status, tier = excluded.tier, event_id = excluded.event_id,
            account = CASE WHEN ? IN ('released', 'transferred', 'user_erased') THEN NULL ELSE account END
        WHERE excluded.event_id > licenses.event_id")->execute([
            $event['license_key'], $event['license_status'], $event['tier'], $event['event_id'], $event['reason'],
        ]);
}

// connect_license connects a license with an account. Its webhook has usually arrived before;
// if not, the marketplace's answer is used until it arrives.
function connect_license(string $account, array $license): void {
    $db = database();
    $db->prepare('INSERT INTO licenses (license_key, status, tier, event_id) VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING')
        ->execute([$license['license_key'], $license['status'], $license['tier']]);
    $db->prepare('UPDATE licenses SET account = ? WHERE license_key = ?')->execute([$account, $license['license_key']]);
}

// best returns the account's license with the most rights, or null.
function best(string $account): ?array {
    $found = database()->prepare("SELECT license_key, status, tier FROM licenses WHERE account = ?
        ORDER BY status = 'active' DESC, tier DESC LIMIT 1");
    $found->execute([$account]);
    return $found->fetch(PDO::FETCH_ASSOC) ?: null;
}

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

// license_of exchanges a code for tokens, and a token for the license that the buyer connects.
function license_of(string $code): array {
    $ask = function (string $path, array $http): array {
        $answer = file_get_contents(setting('MARKET_URL') . $path, false, stream_context_create(['http' => $http + ['timeout' => 10, 'follow_location' => 0]]));
        return $answer === false ? throw new RuntimeException("$path was refused") : json_decode($answer, true, 16, JSON_THROW_ON_ERROR);
    };
    $form = [
        'grant_type' => 'authorization_code', 'code' => $code, 'redirect_uri' => setting('REDIRECT_URL'),
        'client_id' => setting('CLIENT_ID'), 'client_secret' => setting('CLIENT_SECRET'),
    ];
    $tokens = $ask('/openid/token/', ['method' => 'POST', 'header' => 'Content-Type: application/x-www-form-urlencoded', 'content' => http_build_query($form)]);
    return $ask('/openid/license_key/', ['header' => "Authorization: Bearer {$tokens['access_token']}"]);
}

function webhook(): void {
    $answer = function (int $status, bool $success): void {
        http_response_code($status);
        header('Content-Type: application/json');
        echo json_encode(['success' => $success]);
    };
    $body = (string) file_get_contents('php://input', false, null, 0, 65537);
    if (strlen($body) > 65536 || !verify_webhook(setting('WEBHOOK_SECRET'), getallheaders(), $body)) {
        $answer(401, false);
        return;
    }
    $event = json_decode($body, true, 16, JSON_THROW_ON_ERROR);
    if (!$event['test']) {
        apply($event);
    }
    $answer(200, true);
}

function page(int $status, string $text, ?string $link = null): void {
    http_response_code($status);
    header('Content-Type: text/html; charset=utf-8');
    $link = $link === null ? '' : "<p><a href=\"$link\">Connect a license</a></p>";
    echo '<!doctype html><html lang="en"><title>Sample application</title><h1>Sample application</h1><p>', htmlspecialchars($text), "</p>$link";
}

function redirect(string $to, string $name, string $value): void {
    $secure = str_starts_with(setting('REDIRECT_URL'), 'https:');
    setcookie($name, $value, ['path' => '/', 'httponly' => true, 'samesite' => 'Lax', 'secure' => $secure]);
    header("Location: $to", true, 303);
}

function cookie(string $name): string {
    $value = $_COOKIE[$name] ?? null;
    return is_string($value) && preg_match('/^[0-9a-f]{32}$/D', $value) ? $value : '';
}

function home(): void {
    $found = best(cookie('account'));
    if ($found === null) {
        page(200, 'No license is connected.', '/connect');
        return;
    }
    $gives = $found['status'] === 'active' ? "you have what tier {$found['tier']} promises." : 'it gives you nothing now.';
    page(200, "License {$found['license_key']} is {$found['status']}: $gives");
}

// connect starts the connection for buyers who begin here, not with Activate at the
// marketplace.
function connect(): void {
    $state = bin2hex(random_bytes(16));
    $query = ['response_type' => 'code', 'client_id' => setting('CLIENT_ID'), 'redirect_uri' => setting('REDIRECT_URL'), 'scope' => 'openid', 'state' => $state];
    redirect(setting('MARKET_URL') . '/openid/authorize?' . http_build_query($query), 'state', $state);
}

// callback handles returning buyers. A state must belong to this browser; without one they
// began at the marketplace.
function callback(): void {
    if (!is_string($_GET['code'] ?? null) || $_GET['code'] === '') {
        page(200, isset($_GET['error']) ? 'You did not connect a license.' : 'The marketplace sends buyers here.', '/connect');
        return;
    }
    if (isset($_GET['state']) && $_GET['state'] !== cookie('state')) {
        page(400, 'This answer is not for this browser. Begin again.', '/connect');
        return;
    }
    try {
        $license = license_of($_GET['code']);
    } catch (Throwable $err) {
        error_log("the code was not exchanged: {$err->getMessage()}");
        page(400, 'The license could not be connected. Begin again.', '/connect');
        return;
    }
    $account = cookie('account') ?: bin2hex(random_bytes(16));
    connect_license($account, $license);
    redirect('/', 'account', $account);
}

set_error_handler(function (int $level, string $text) { throw new ErrorException($text, 0, $level); });
header('Cache-Control: no-store');
try {
    match ($_SERVER['REQUEST_METHOD'] . ' ' . parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)) {
        'POST /webhook' => webhook(),
        'GET /' => home(),
        'GET /connect' => connect(),
        'GET /callback' => callback(),
        default => page(404, 'There is no such page.'),
    };
} catch (Throwable $err) { // an event that is not stored is sent again
    error_log((string) $err);
    page(500, 'Something failed.');
}
