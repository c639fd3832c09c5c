// The lockfile of the package: what package-lock.json says of the server and all that it needs. `npm ci` in an unpacked
// package installs these versions.

// The lockfile leaves out how the workspace uses a package. It leaves out `engines`: CI runs guiche with these versions
// on every Node that it supports, and npm would warn of packages that declare fewer. It leaves out optional peers: npm
// would install those that are here for tests.
const LEFT_OUT = ['dev', 'devOptional', 'peer', 'optional', 'engines', 'peerDependencies', 'peerDependenciesMeta']

/** @param {{ packages: Record<string, any> }} lockfile of the workspace */
export function makeShrinkwrap({ packages }, workspace) {
  const root = packages[workspace]
  const required = reach(packages, workspace, needed)
  const shipped = reach(packages, workspace, (entry) => [...needed(entry), ...namesOf(entry.optionalDependencies)])
  const all = reach(packages, workspace, (entry) => [
    ...needed(entry),
    ...namesOf({ ...entry.optionalDependencies, ...(entry === root && entry.devDependencies) }),
  ])
  const entries = { '': root }
  for (const path of all) {
    const place = path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path
    if (entries[place]) throw new Error(`${place} has two versions in package-lock.json, and the package has one place`)
    const kept = Object.entries(packages[path]).filter(([field]) => !LEFT_OUT.includes(field))
    const flag = required.has(path) ? {} : shipped.has(path) ? { optional: true } : { dev: true }
    const peers = Object.fromEntries(
      peersOf(packages[path]).map((name) => [name, packages[path].peerDependencies[name]]),
    )
    entries[place] = { ...Object.fromEntries(kept), peerDependencies: peers, ...flag }
  }
  const { name, version } = root
  return { name, version, lockfileVersion: 3, requires: true, packages: entries }
}

function needed(entry) {
  return [...namesOf(entry.dependencies), ...peersOf(entry)]
}

function peersOf({ peerDependencies, peerDependenciesMeta = {} }) {
  return namesOf(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional)
}

function namesOf(dependencies = {}) {
  return Object.keys(dependencies)
}

/** The paths of all that `workspace` needs, and what those need. */
function reach(packages, workspace, neededBy) {
  const found = new Set()
  const visit = (from) => {
    for (const name of neededBy(packages[from])) {
      const path = resolve(packages, from, name)
      if (path === undefined || found.has(path)) continue
      found.add(path)
      visit(path)
    }
  }
  visit(workspace)
  return found
}

/** Looks for a package as Node does: beside the one that needs it, and then further up. */
function resolve(packages, from, name) {
  for (let folder = from; ; folder = folder.slice(0, folder.lastIndexOf('/node_modules/'))) {
    const path = `${folder}/node_modules/${name}`
    if (packages[path]) return path
    if (!folder.includes('/node_modules/')) break
  }
  return packages[`node_modules/${name}`] ? `node_modules/${name}` : undefined
}
