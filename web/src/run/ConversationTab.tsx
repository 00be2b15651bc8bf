import {useMemo, useState} from 'react'
import {clockTime} from '../lib/format.ts'
import {brief} from '../lib/json.ts'
import type {LiveRun} from '../live/run_source.ts'
import {Button, Empty} from '../ui/parts.tsx'
import {Line, Text} from '../ui/Text.tsx'
import {Value} from '../ui/Value.tsx'
import styles from './ConversationTab.module.css'
import {conversationOf, type Turn} from './conversation.ts'
import type {Place} from './place.ts'
import type {Definition} from './types.ts'

const page = 100

// ConversationTab shows the messages of agents, tools and people, in order; replies appear as they
// are generated.
export function ConversationTab({
  live,
  place,
  definition,
}: {
  live: LiveRun
  place: Place
  definition: Definition | null
}) {
  const turns = useMemo(() => conversationOf(live.events, live.streamed), [live.events, live.streamed])
  const names = useMemo(() => new Map((definition?.agents ?? []).map(a => [a.id, a.name || a.id])), [definition])
  const [shown, setShown] = useState(page)
  if (turns.length === 0) return <Empty title="No agent has spoken yet" />
  const part = turns.slice(-shown)
  const ended = live.view.endedAt !== null && !live.past
  return (
    <div className={styles.tab}>
      {part.length < turns.length && (
        <Button onClick={() => setShown(shown + page)}>
          Show {Math.min(page, turns.length - part.length)} earlier
        </Button>
      )}
      <ol className={styles.turns} aria-label="Conversation">
        {part.map(t => (
          <li
            key={t.id}
            className={`${styles.turn} ${styles[t.kind]}`}
            style={{marginLeft: `${Math.min(t.depth, 6) * 20}px`}}
          >
            {t.kind === 'tool' ? (
              <Tool turn={t} run={live.view.id} ended={ended} />
            ) : (
              <>
                <header>
                  <strong>
                    <Line>
                      {t.kind === 'given' ? `To ${names.get(t.agent) ?? t.agent}` : (names.get(t.agent) ?? t.agent)}
                    </Line>
                  </strong>
                  <button
                    type="button"
                    className={styles.where}
                    onClick={() => place.set({tab: 'steps', step: t.step})}
                  >
                    <Line>{`${t.node}${t.iteration > 1 ? ` · iteration ${t.iteration}` : ''}`}</Line>
                  </button>
                  <time className={styles.time}>{clockTime(t.time)}</time>
                </header>
                {t.kind === 'person' && t.name && (
                  <p className={styles.asked}>
                    <Text>{t.name}</Text>
                  </p>
                )}
                {t.kind === 'given' ? (
                  <details>
                    <summary>
                      <Line>{brief(t.text) || 'nothing'}</Line>
                    </summary>
                    <Value of={t.text} run={live.view.id} label="what the agent was given" />
                  </details>
                ) : t.open ? (
                  <p aria-live="off">
                    <Text>{ended ? 'No reply came' : `${typeof t.text === 'string' ? t.text : ''}▌`}</Text>
                  </p>
                ) : typeof t.text === 'string' ? (
                  <p>
                    <Text>{t.text}</Text>
                  </p>
                ) : (
                  <Value of={t.text} run={live.view.id} label="what was said" />
                )}
              </>
            )}
          </li>
        ))}
      </ol>
    </div>
  )
}

function Tool({turn: t, run, ended}: {turn: Turn; run: string; ended: boolean}) {
  return (
    <details>
      <summary>
        <span className={styles.called}>
          <code>
            <Line>{t.name}</Line>
          </code>
          <span className={styles.brief}>
            <Line>{t.open ? (ended ? 'no result' : 'running') : brief(t.result) || 'nothing'}</Line>
          </span>
        </span>
      </summary>
      <Value of={t.arguments} run={run} label="the arguments" />
      {!t.open && <Value of={t.result} run={run} label="the result" />}
    </details>
  )
}
