<?php // guiche.php: calls the API, and repeats what failed on the way. It needs PHP 8.1 and its extension curl.

const ATTEMPTS = 8;
const TIMEOUT_SECONDS = 30;
const MAX_PAUSE_SECONDS = 30;

class GuicheError extends RuntimeException
{
    public function __construct(public readonly string $reason, string $text)
    {
        parent::__construct("$reason: $text");
    }
}

// A POST is repeated only with a key of its own: the same key never makes a second deposit, refund or payout.
function call(string $method, string $path, ?array $body = null, ?string $key = null): array
{
    $headers = ['Authorization: Bearer ' . getenv('GUICHE_KEY'), 'Content-Type: application/json'];
    if ($key !== null) $headers[] = "Idempotency-Key: $key";
    for ($attempt = 1; ; $attempt++) {
        $answered = [];
        $request = curl_init(rtrim(getenv('GUICHE_URL') ?: '', '/') . $path);
        curl_setopt_array($request, [
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_HTTPHEADER => $headers,
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_TIMEOUT => TIMEOUT_SECONDS,
            CURLOPT_HEADERFUNCTION => function ($_, string $line) use (&$answered): int {
                [$name, $value] = explode(':', $line, 2) + [1 => ''];
                $answered[strtolower($name)] = trim($value);
                return strlen($line);
            },
        ]);
        if ($body !== null) curl_setopt($request, CURLOPT_POSTFIELDS, json_encode($body, JSON_THROW_ON_ERROR));
        $text = (string) curl_exec($request);
        $status = curl_getinfo($request, CURLINFO_RESPONSE_CODE); // 0: no answer came
        $answer = json_decode($text, true);
        if ($status >= 200 && $status < 300 && ($answer['success'] ?? false)) return $answer;

        $code = $answered['guiche-error'] ?? ($status ? 'unexpected_answer' : 'network');
        $isTransient = $status === 0 || $code === 'in_flight' || ($status >= 500 && $code !== 'provider_refused');
        $isSafe = $status === 429 || ($isTransient && ($method !== 'POST' || $key !== null));
        if (!$isSafe || $attempt === ATTEMPTS) throw new GuicheError($code, $answer['error'] ?? "status $status");
        $pause = max(min(2, 0.25 * 2 ** $attempt), min(MAX_PAUSE_SECONDS, (int) ($answered['retry-after'] ?? 0)));
        usleep((int) (1e6 * $pause));
    }
}
