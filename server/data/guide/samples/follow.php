<?php // Credits each paid deposit exactly once: GUICHE_URL=https://… GUICHE_KEY=gk_test_… php follow.php shop.db

const WAIT_SECONDS = 25;
const TIMEOUT_SECONDS = 40;
const MAX_PAUSE_SECONDS = 30;

$db = new PDO('sqlite:' . ($argv[1] ?? 'shop.db'), null, null, [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
$db->exec('create table if not exists credits (transaction_id text primary key, cents integer not null)');
$db->exec('create table if not exists followed (one integer primary key, cursor text not null, position integer not null)');
$db->exec("insert or ignore into followed values (1, '0', 0)");

// Waits for the next events. Repeats the request until the service answers.
function read_after(string $cursor): array
{
    $http = ['header' => 'Authorization: Bearer ' . getenv('GUICHE_KEY'), 'timeout' => TIMEOUT_SECONDS, 'ignore_errors' => true, 'follow_location' => 0];
    $url = rtrim(getenv('GUICHE_URL') ?: '', '/') . "/api/events?after=$cursor&limit=100&wait=" . WAIT_SECONDS;
    for ($pause = 1.0; ; $pause = min(MAX_PAUSE_SECONDS, $pause * 2)) {
        $http_response_header = [];
        $text = @file_get_contents($url, false, stream_context_create(['http' => $http]));
        $status = (int) (explode(' ', $http_response_header[0] ?? '')[1] ?? 0); // 0: no answer came
        $answer = json_decode($text ?: '', true);
        if ($status === 200 && ($answer['success'] ?? false)) return $answer;

        // One of these is history_changed: the service was restored from a backup that lacks this cursor.
        $isTransient = $status === 0 || $status === 408 || $status === 429 || $status >= 500;
        $code = header_of($http_response_header, 'Guiche-Error') ?? 'unexpected_answer';
        if (!$isTransient) throw new RuntimeException("$code: " . ($answer['error'] ?? "status $status"));
        $pause = max($pause, min(MAX_PAUSE_SECONDS, (int) header_of($http_response_header, 'Retry-After')));
        usleep((int) (1e6 * $pause * random_int(50, 100) / 100));
    }
}

function header_of(array $lines, string $name): ?string
{
    foreach ($lines as $line) if (stripos($line, "$name:") === 0) return trim(substr($line, strlen($name) + 1));
    return null;
}

function handle(PDO $db, array $event, string $cursor): void
{
    $position = $event['position'];
    // The place and the work are in one transaction: after a crash either both are there, or neither.
    $db->beginTransaction();
    try {
        // Positions have no gap. If this changes no row, another copy of this program has done the work.
        $moved = $db->prepare('update followed set cursor = ?, position = ? where position = ?');
        $moved->execute([$cursor, $position, $position - 1]);
        if ($moved->rowCount() === 1 && $event['event'] === 'DEPOSIT_ASSET_SUCCESS') {
            $paid = $event['data'];
            $db->prepare('insert or ignore into credits values (?, ?)')->execute([$paid['transactionId'], $paid['creditedValue']]);
            echo $paid['creditedValue'], " cents credited\n";
        }
        $db->commit();
    } catch (Throwable $error) {
        $db->rollBack();
        throw $error;
    }
}

try {
    while (true) {
        $page = read_after($db->query('select cursor from followed')->fetchColumn());
        foreach ($page['events'] as $event) handle($db, $event, "{$page['historyId']}.{$event['position']}");
    }
} catch (RuntimeException $error) {
    fwrite(STDERR, $error->getMessage() . "\n");
    exit(1);
}
