export function versionIn(output: string): string
