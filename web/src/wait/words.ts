import type {OpenWait} from '../shell/waits.ts'
import type {WaitFacts} from './facts.ts'

// waitTitle returns a one-line summary of the wait.
export function waitTitle(w: Pick<OpenWait, 'prompt' | 'tool' | 'node' | 'kind' | 'signal'>): string {
  if (typeof w.prompt === 'string' && w.prompt) return w.prompt
  if (w.prompt && typeof w.prompt === 'object') return w.prompt.$value.head
  if (w.tool) return `May ${w.node} call ${w.tool}?`
  if (w.kind === 'signal') return `Waiting for the signal ${w.signal ?? ''} at ${w.node}`
  return `Waiting for ${kindText(w.kind)} at ${w.node}`
}

const kinds: Record<string, string> = {
  approval: 'an approval',
  question: 'an answer',
  signal: 'a signal',
}

export const kindText = (kind: string): string => kinds[kind] ?? kind

// kindOf names the kind of a wait in a word or two.
export function kindOf(w: {tool?: string; kind: string}, f: WaitFacts): string {
  if (f.limit) return 'a used-up budget'
  if (f.lost) return 'a call of unknown outcome'
  return w.tool ? 'a tool call' : kindText(w.kind)
}
