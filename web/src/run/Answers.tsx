import {keepPreviousData, useQuery} from '@tanstack/react-query'
import {ask, client} from '../api/client.ts'
import type {LiveRun} from '../live/run_source.ts'
import {Empty, ErrorBox, Loading} from '../ui/parts.tsx'
import {Line, Text} from '../ui/Text.tsx'
import {Value} from '../ui/Value.tsx'
import {useSettled} from './LogTab.tsx'
import styles from './Rows.module.css'

// TrailTab shows the inputs and outputs of each participant, in order.
export function TrailTab({live}: {live: LiveRun}) {
  const {id} = live.view
  const seq = useSettled(live)
  const trail = useQuery({
    queryKey: ['trail', id, seq],
    queryFn: () => ask(client.GET('/api/v1/runs/{id}/trail', {params: {path: {id}, query: {limit: 200}}})),
    placeholderData: keepPreviousData,
  })
  if (trail.error && !trail.data) return <ErrorBox error={trail.error} again={() => void trail.refetch()} />
  if (!trail.data) return <Loading what="the trail" />
  const items = trail.data.items ?? []
  if (items.length === 0) return <Empty title="No agent has spoken yet" />
  return (
    <>
      <WholeRun live={live} />
      <ol className={styles.trail}>
        {items.map(e => (
          <li key={e.order}>
            <header>
              <strong>
                <Line>{e.agentName || e.nodeId}</Line>
              </strong>
              <span>
                <Line>{e.nodeId}</Line>
              </span>
              {e.round > 0 && <span>round {e.round + 1}</span>}
              {e.sentToNodeId && (
                <span>
                  to <Line>{e.sentToNodeId}</Line>
                </span>
              )}
            </header>
            <details>
              <summary>Given</summary>
              <Value of={e.input} run={id} label="what it was given" />
            </details>
            {e.prompt !== undefined && (
              <details>
                <summary>Sent</summary>
                <Value of={e.prompt} run={id} label="what it was sent" />
              </details>
            )}
            {(e.toolCalls ?? []).map((t, i) => (
              <details key={i}>
                <summary>
                  Tool <Text>{t.tool}</Text>
                </summary>
                <Value of={t.arguments} run={id} label="the arguments" />
                <Value of={t.error ?? t.result} run={id} label="the result" />
              </details>
            ))}
            {e.error ? (
              <Value of={e.error} run={id} label="the error" />
            ) : (
              <Value of={e.output} run={id} label="what it said" />
            )}
          </li>
        ))}
      </ol>
    </>
  )
}

// WholeRun says that a view does not follow the position in the journal.
function WholeRun({live}: {live: LiveRun}) {
  return live.past ? <p className={styles.note}>This is of the whole run, not of the position in the journal.</p> : null
}

// ContextTab shows the step context as agents receive it.
export function ContextTab({live}: {live: LiveRun}) {
  const {id} = live.view
  const seq = useSettled(live)
  const context = useQuery({
    queryKey: ['context', id, seq],
    queryFn: () => ask(client.GET('/api/v1/runs/{id}/context', {params: {path: {id}}})),
    placeholderData: keepPreviousData,
  })
  if (context.error && !context.data) return <ErrorBox error={context.error} again={() => void context.refetch()} />
  if (context.data === undefined) return <Loading what="the context" />
  return (
    <>
      <WholeRun live={live} />
      <Value of={context.data} run={id} label="the step context" />
    </>
  )
}
