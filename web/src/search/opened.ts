import { makeStore } from '../base/store.ts'

/** The dialogs of the frame: one is open at most. */
export type FrameDialog = 'search' | 'shortcuts'

const opened = makeStore<FrameDialog | undefined>(undefined)

export const useOpened = opened.use
export const closeDialog = () => opened.set(undefined)
export const openDialog = (dialog: FrameDialog) => opened.set(dialog)
