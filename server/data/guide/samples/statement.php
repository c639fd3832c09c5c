<?php
require __DIR__ . '/guiche.php';

$query = ['from' => '2026-01-01', 'to' => '2026-01-31', 'limit' => 100];
do {
    $page = call('GET', '/api/statement?' . http_build_query($query));
    if (!isset($query['cursor'])) echo $page['openingBalance'], ' ', $page['closingBalance'], "\n";
    foreach ($page['lines'] as $line) echo $line['kind'], ' ', $line['net'], ' ', $line['externalId'], "\n";
    $query['cursor'] = $page['nextCursor'];
} while ($page['nextCursor'] !== null);
