export function copyPreparedHome(to: string): Promise<void>
