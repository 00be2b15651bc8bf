import {Link} from 'wouter'
import {count, duration, exact, plural, usd} from '../lib/format.ts'
import {brief} from '../lib/json.ts'
import {type LiveRun, timeOf} from '../live/run_source.ts'
import {Copy} from '../ui/Copy.tsx'
import {Status} from '../ui/Status.tsx'
import {Line, Text} from '../ui/Text.tsx'
import {useNow} from '../ui/use_now.ts'
import {Value} from '../ui/Value.tsx'
import {waitTitle} from '../wait/words.ts'
import {Actions} from './Actions.tsx'
import {CompareWith} from './CompareWith.tsx'
import {CopyAs} from './CopyAs.tsx'
import styles from './RunHeader.module.css'
import {TestBadge} from './TestBadge.tsx'
import type {RunView} from './types.ts'

// RunHeader shows the name, state, cost and waits of the run. now is the current run, also if an
// earlier view of it is shown: actions apply to it.
export function RunHeader({live, now: current}: {live: LiveRun; now: RunView}) {
  const {view} = live
  const goesOn = view.endedAt === null
  const ticking = useNow(!live.past && goesOn && view.status === 'running')
  const now = live.past ? timeOf(live) : ticking
  const took = view.startedAt ? (view.endedAt ? Date.parse(view.endedAt) : now) - Date.parse(view.startedAt) : null
  const {usage} = view
  return (
    <header className={styles.header}>
      <div className={styles.row}>
        <div className={styles.title}>
          <h1>
            <Line>{view.workflow.name || view.workflow.id || 'Run'}</Line>
          </h1>
          {view.workflow.version !== null && <span className={styles.version}>v{view.workflow.version}</span>}
          {view.workflow.branch && (
            <span className={styles.version}>
              <Line>{view.workflow.branch}</Line>
            </span>
          )}
          {view.test && <TestBadge />}
          <Status of={view.status} />
          <span className={styles.fact} title={view.startedAt ? `Started ${exact(view.startedAt)}` : undefined}>
            {duration(took !== null && took < 0 ? 0 : took)}
          </span>
          <span className={styles.fact}>{plural(usage.modelCalls, 'model call')}</span>
          {usage.toolCalls > 0 && <span className={styles.fact}>{plural(usage.toolCalls, 'tool call')}</span>}
          {usage.inputTokens + usage.outputTokens > 0 && (
            <span className={styles.fact} title={`${usage.inputTokens} in, ${usage.outputTokens} out`}>
              {count(usage.inputTokens + usage.outputTokens)} tokens
            </span>
          )}
          {(usage.costUSD === null || usage.costUSD > 0) && usage.modelCalls > 0 && (
            <span className={styles.fact}>{usd(usage.costUSD)}</span>
          )}
        </div>
        <div className={styles.actions}>
          <Actions view={current}>
            <CompareWith view={view} />
            <CopyAs run={view.id} />
          </Actions>
        </div>
      </div>
      <p className={styles.ids}>
        <code>{view.id}</code>
        <Copy text={view.id} label="Copy the id of the run" />
        {view.parentRun && (
          <span>
            started by <Link href={`/runs/${view.parentRun}`}>{view.parentRun.slice(-8)}</Link>
          </span>
        )}
        {view.forkedFrom && (
          <span>
            {view.retry ? 'goes on with' : 'forked from'}{' '}
            <Link href={`/runs/${view.forkedFrom}`}>{view.forkedFrom.slice(-8)}</Link>
          </span>
        )}
        {live.state === 'refused' && (
          <span className={styles.lost}>The run is no longer there; this is what was read of it</span>
        )}
        {live.state === 'lost' && <span className={styles.lost}>The connection is lost; it catches up by itself</span>}
      </p>
      {view.waiting.map(w => (
        <p key={w.id} className={styles.waits}>
          <Status of="waiting" brief />
          <span className={styles.prompt}>
            <Line>{waitTitle(w)}</Line>
          </span>
          <Link href={`/inbox/${view.id}/${w.id}`}>{w.kind === 'signal' ? 'Look' : 'Decide'}</Link>
        </p>
      ))}
      {view.error && (
        <div className={styles.error} role="alert">
          <strong>{view.error.code}</strong>
          {view.error.node && (
            <span>
              {' '}
              at <Text>{view.error.node}</Text>
            </span>
          )}
          <p>
            <Text>{typeof view.error.message === 'string' ? view.error.message : ''}</Text>
          </p>
        </div>
      )}
      <div className={styles.ends}>
        <details className={styles.end}>
          <summary>
            Input <Line>{brief(view.input)}</Line>
          </summary>
          <Value of={view.input} run={view.id} label="the input" />
        </details>
        {view.status === 'completed' && (
          <details className={styles.end} open>
            <summary>Output</summary>
            <Value of={view.output} run={view.id} label="the output" />
          </details>
        )}
      </div>
    </header>
  )
}
