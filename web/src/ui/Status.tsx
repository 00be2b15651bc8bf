import {Ban, Check, CircleDashed, Hourglass, Loader, Pause, SkipForward, X} from 'lucide-react'
import styles from './Status.module.css'

const looks = {
  pending: {icon: CircleDashed, tone: 'quiet', word: 'pending'},
  running: {icon: Loader, tone: 'running', word: 'running'},
  paused: {icon: Pause, tone: 'waiting', word: 'waiting'},
  waiting: {icon: Hourglass, tone: 'waiting', word: 'waiting'},
  completed: {icon: Check, tone: 'completed', word: 'completed'},
  succeeded: {icon: Check, tone: 'completed', word: 'completed'},
  failed: {icon: X, tone: 'failed', word: 'failed'},
  cancelled: {icon: Ban, tone: 'quiet', word: 'cancelled'},
  skipped: {icon: SkipForward, tone: 'quiet', word: 'skipped'},
} as const

type Known = keyof typeof looks

export const wordOf = (status: string): string => looks[status as Known]?.word ?? status

// Status shows a state by icon, word and color together.
export function Status({of, brief = false}: {of: string; brief?: boolean}) {
  const look = looks[of as Known] ?? {icon: CircleDashed, tone: 'quiet', word: of}
  const Icon = look.icon
  return (
    <span className={`${styles.status} ${styles[look.tone]} ${brief ? styles.brief : ''}`} title={look.word}>
      <Icon size={12} strokeWidth={2.5} aria-hidden className={of === 'running' ? styles.turning : undefined} />
      <span className={brief ? 'hidden' : undefined}>{look.word}</span>
    </span>
  )
}
