<?php // Asks for the deposit of an order and waits until it is paid: GUICHE_URL=https://… GUICHE_KEY=gk_test_… php deposit.php order-1042

const ATTEMPTS = 10;
const TIMEOUT_SECONDS = 30;
const WAIT_SECONDS = 3660;
const MAX_PAUSE_SECONDS = 15;

// Repeats what failed on the way. GET and PUT change nothing when they are repeated; a POST would need a key for that.
function call(string $method, string $path, ?array $body = null): array
{
    $headers = ['Authorization: Bearer ' . getenv('GUICHE_KEY'), 'Content-Type: application/json'];
    $http = ['method' => $method, 'header' => $headers, 'timeout' => TIMEOUT_SECONDS, 'ignore_errors' => true, 'follow_location' => 0];
    if ($body !== null) $http['content'] = json_encode($body, JSON_THROW_ON_ERROR);
    $url = rtrim(getenv('GUICHE_URL') ?: '', '/') . $path;
    for ($attempt = 1; ; $attempt++) {
        $http_response_header = [];
        $text = @file_get_contents($url, false, stream_context_create(['http' => $http]));
        $status = (int) (explode(' ', $http_response_header[0] ?? '')[1] ?? 0); // 0: no answer came
        $answer = json_decode($text ?: '', true);
        if ($status >= 200 && $status < 300 && ($answer['success'] ?? false)) return $answer;

        $code = header_of($http_response_header, 'Guiche-Error') ?? ($status ? 'unexpected_answer' : 'network');
        $isTransient = $status === 0 || $status === 429 || $code === 'in_flight' || ($status >= 500 && $code !== 'provider_refused');
        if (!$isTransient || $attempt === ATTEMPTS) throw new RuntimeException("$code: " . ($answer['error'] ?? "status $status"));
        $pause = min(2, 0.5 * 2 ** $attempt) * random_int(50, 100) / 100;
        usleep((int) (1e6 * max($pause, min(30, (int) header_of($http_response_header, 'Retry-After')))));
    }
}

function header_of(array $lines, string $name): ?string
{
    foreach ($lines as $line) if (stripos($line, "$name:") === 0) return trim(substr($line, strlen($name) + 1));
    return null;
}

function wait_until_paid(string $paymentLinkId): array
{
    $pause = 1.0;
    for ($deadline = time() + WAIT_SECONDS; time() < $deadline; $pause = min(MAX_PAUSE_SECONDS, $pause * 1.3)) {
        $deposit = call('GET', "/api/deposits/$paymentLinkId")['deposit'];
        if ($deposit['status'] === 'COMPLETED') return $deposit;
        if ($deposit['heldValue'] > 0) throw new RuntimeException("payment_held: {$deposit['heldValue']} cents were paid and are held");
        if ($deposit['status'] !== 'PENDING') throw new RuntimeException("not_paid: the charge is {$deposit['status']}");
        usleep((int) (1e6 * $pause * random_int(50, 100) / 100));
    }
    throw new RuntimeException('timeout: the charge was not paid in time');
}

try {
    $order = $argv[1] ?? 'order-1042';
    // The one deposit of this order. Repeat it as often as you like: it never makes a second one that could be paid.
    $deposit = call('PUT', '/api/orders/' . rawurlencode($order) . '/deposit', ['value' => 5000])['deposit'];
    if ($deposit['status'] === 'PENDING') echo "Pay with this code: {$deposit['emv']}\n";
    $paid = wait_until_paid($deposit['paymentLinkId']);
    echo $paid['creditedValue'], " cents credited\n";
} catch (RuntimeException $error) {
    fwrite(STDERR, $error->getMessage() . "\n");
    exit(1);
}
