import { useEffect } from 'react'
import { makeStore, remember, remembered } from '../../base/store.ts'

// How the counter calls for attention: it keeps the screen on, and sounds and vibrates when a payment arrives. Where a
// browser lacks one of these, the rest works.

/** For as long as it is shown. The browser lets go of the lock whenever the page is hidden. */
export function useWakeLock(): void {
  useEffect(() => {
    let lock: WakeLockSentinel | undefined
    let isOver = false
    const ask = async () => {
      if (document.hidden || !('wakeLock' in navigator)) return
      // Refused to save the battery, for example.
      lock = await navigator.wakeLock.request('screen').catch(() => undefined)
      if (isOver) void lock?.release()
    }
    const askAgain = () => void ask()
    void ask()
    document.addEventListener('visibilitychange', askAgain)
    return () => {
      isOver = true
      document.removeEventListener('visibilitychange', askAgain)
      void lock?.release()
    }
  }, [])
}

const MUTED = 'guiche.counter.muted'
const muted = makeStore(remembered(MUTED) === 'yes')
export const useMuted = muted.use

export function setMuted(isMuted: boolean): void {
  remember(MUTED, isMuted ? 'yes' : 'no')
  muted.set(isMuted)
}

let audio: AudioContext | undefined

/** Call it in a click or a key press: a browser plays nothing before one. */
export function allowSound(): void {
  if (typeof AudioContext === 'undefined') return
  audio ??= new AudioContext()
  void audio.resume().catch(() => {})
}

/** Two notes upwards: each its frequency, and when it begins. */
const NOTES = [
  { hertz: 880, atSeconds: 0 },
  { hertz: 1318.5, atSeconds: 0.14 },
] as const
const NOTE_SECONDS = 0.35
const LOUDNESS = 0.4
const VIBRATION_MS = [120, 60, 240]

export function announcePayment(): void {
  navigator.vibrate?.(VIBRATION_MS)
  if (muted.get() || audio?.state !== 'running') return
  for (const { hertz, atSeconds } of NOTES) {
    const from = audio.currentTime + atSeconds
    const [tone, volume] = [audio.createOscillator(), audio.createGain()]
    tone.frequency.value = hertz
    volume.gain.setValueAtTime(LOUDNESS, from)
    // It fades, because a cut would click.
    volume.gain.exponentialRampToValueAtTime(0.001, from + NOTE_SECONDS)
    tone.connect(volume).connect(audio.destination)
    tone.start(from)
    tone.stop(from + NOTE_SECONDS)
  }
}
