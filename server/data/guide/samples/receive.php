<?php // Try it: WEBHOOK_SECRET=whsec_… php -S 127.0.0.1:3001 receiver.php

const TOLERANCE_SECONDS = 300;

function verify(string $body, array $server, string $secret): array
{
    $key = str_starts_with($secret, 'whsec_') ? base64_decode(substr($secret, 6), true) : '';
    if (!$key) throw new LogicException('WEBHOOK_SECRET must be the whsec_… that guiche showed');

    [$id, $timestamp, $signatures] = array_map(fn ($name) => $server["HTTP_WEBHOOK_$name"] ?? '', ['ID', 'TIMESTAMP', 'SIGNATURE']);
    if ($id === '' || str_contains($id, '.') || !ctype_digit($timestamp) || abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) {
        throw new UnexpectedValueException('a header is missing, or the message is old');
    }
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    foreach (explode(' ', $signatures) as $given) {
        if (hash_equals($expected, $given)) return json_decode($body, true, 512, JSON_THROW_ON_ERROR);
    }
    throw new UnexpectedValueException('no signature matches');
}

try {
    $event = verify(file_get_contents('php://input'), $_SERVER, getenv('WEBHOOK_SECRET') ?: '');
    // Insert $_SERVER['HTTP_WEBHOOK_ID'] into a table with a unique column; where it is there already, the work is done.
    if ($event['event'] === 'DEPOSIT_ASSET_SUCCESS') error_log("{$event['data']['creditedValue']} cents credited");
    http_response_code(204);
} catch (UnexpectedValueException | JsonException) {
    http_response_code(400);
}
