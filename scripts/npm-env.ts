// npm describes the running command in these variables. An npm that a test starts would take this checkout for its own.
const OUTER_NPM = /^(npm_(package|lifecycle|command|config_local_prefix|config_prefix)|INIT_CWD)/

/** The environment for an npm that a test starts. */
export const npmEnv = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OUTER_NPM.test(name)))
