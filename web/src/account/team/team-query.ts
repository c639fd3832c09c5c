export const TEAM = ['team'] as const
