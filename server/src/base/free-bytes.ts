import { statfs } from 'node:fs/promises'

/** Of the disk that a folder is on, for processes that are not root. */
export async function readFreeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}
