import {X} from 'lucide-react'
import {useEffect, useRef, useState} from 'react'
import type {LiveRun} from '../live/run_source.ts'
import {Awaited, isThere} from '../run/Awaited.tsx'
import type {Waiting} from '../run/types.ts'
import {isTyping} from '../shell/keys.ts'
import {Button, Empty, ErrorBox, IconButton} from '../ui/parts.tsx'
import {Line} from '../ui/Text.tsx'
import styles from './AnswerPane.module.css'
import {Gone} from './Closed.tsx'
import {Decide} from './Decide.tsx'
import {closedOf} from './facts.ts'
import {waitTitle} from './words.ts'

type Props = {
  live: LiveRun
  isDrawn: boolean
  asked: {wait: string}
  go: (wait: string) => void
  close: (answered: boolean) => void
}

// AnswerPane is the pane next to the drawing in which a person answers a wait of a run. It has the
// same form as the inbox, and stays open if another answer is first.
export default function AnswerPane({live, isDrawn, asked, go, close}: Props) {
  const {wait} = asked
  const pane = useRef<HTMLElement>(null)
  const [said, setSaid] = useState<{wait: string; text: string} | null>(null)
  const seen = useRef<Waiting | null>(null)
  const now = live.view.waiting.find(w => w.id === wait)
  if (now || seen.current?.id !== wait) seen.current = now ?? null
  const answered = said?.wait === wait ? said.text : ''
  const next = live.view.waiting.find(w => w.id !== wait)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the requested wait gets the focus
  useEffect(() => pane.current?.focus({preventScroll: true}), [asked, answered])
  const inside = () => {
    if (!isThere(live)) return <Awaited of={[live]} what="what waits" />
    if (answered) {
      return (
        <Empty title={`Answered: ${answered}`}>
          {next && (
            <>
              <p>The run waits for more:</p>
              <Button kind="primary" onClick={() => go(next.id)}>
                <Line>{waitTitle(next)}</Line>
              </Button>
            </>
          )}
        </Empty>
      )
    }
    if (!seen.current) return <Gone run={live.view.id} closed={closedOf(live.view, live.events, wait)} />
    const done = (text: string) => (next ? setSaid({wait, text}) : close(true))
    return <Decide key={wait} wait={seen.current} live={live} done={done} go={go} />
  }
  return (
    <section
      ref={pane}
      className={styles.pane}
      tabIndex={-1}
      aria-label="Answer"
      onKeyDown={e => {
        if (e.key !== 'Escape' || e.defaultPrevented) return
        e.preventDefault()
        if (isTyping(e.nativeEvent))
          pane.current?.focus() // one key must not discard typed input
        else close(answered !== '')
      }}
    >
      <div className={styles.bar}>
        <span>{isDrawn ? 'Of the run that is drawn' : 'Of another run than the one that is drawn'}</span>
        <IconButton label="Close the answer" onClick={() => close(answered !== '')}>
          <X size={16} />
        </IconButton>
      </div>
      {isThere(live) && live.refused && <ErrorBox error={live.refused} />}
      {inside()}
    </section>
  )
}
