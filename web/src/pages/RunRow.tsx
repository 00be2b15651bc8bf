import {Link} from 'wouter'
import {ago, count, duration, exact, usd} from '../lib/format.ts'
import {TestBadge} from '../run/TestBadge.tsx'
import {isTest} from '../run/test_run.ts'
import {Status} from '../ui/Status.tsx'
import {Line} from '../ui/Text.tsx'
import styles from './Runs.module.css'
import type {RunLine} from './runs_query.ts'

// RunRow renders the cells of one run.
export function RunRow({run}: {run: RunLine}) {
  const went = run.status === 'running' || run.status === 'pending' ? '' : duration(run.durationMs)
  return (
    <>
      <span role="cell" className={styles.status}>
        <Status of={run.status} />
      </span>
      <span role="cell" className={styles.name}>
        <Link href={`/runs/${run.id}`} className={styles.link}>
          <Line>{run.workflowName || run.workflow || run.id}</Line>
        </Link>
        {run.version !== null && <small>v{run.version}</small>}
        {run.branch && <small>{run.branch}</small>}
        {isTest(run.labels) && <TestBadge />}
      </span>
      <span role="cell" className={styles.input}>
        {run.error ? (
          <span className={styles.error}>
            <Line>{`${run.error.code}: ${run.error.message}`}</Line>
          </span>
        ) : (
          <Line>{run.inputPreview}</Line>
        )}
      </span>
      <span role="cell" className={styles.trigger}>
        {run.trigger}
      </span>
      <span role="cell" className={styles.time} title={exact(run.createdAt)}>
        {ago(run.createdAt)}
      </span>
      <span role="cell" className={styles.number}>
        {went}
      </span>
      <span role="cell" className={styles.number}>
        {run.usage && run.usage.tokens > 0 ? count(run.usage.tokens) : ''}
      </span>
      <span role="cell" className={styles.number}>
        {run.usage && run.usage.costUSD > 0 ? usd(run.usage.costUSD) : ''}
      </span>
    </>
  )
}
