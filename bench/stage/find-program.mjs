import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The path of a program that is installed, in the PATH or in one of the other folders; else undefined. */
export function findProgram(name, folders = []) {
  const inPath = (process.env.PATH ?? '').split(delimiter)
  return [...inPath, ...folders].map((folder) => join(folder, name)).find(isProgram)
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
