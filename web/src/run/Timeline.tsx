import {useMemo} from 'react'
import {duration} from '../lib/format.ts'
import {clean} from '../lib/hostile.ts'
import {timeOf} from '../live/run_source.ts'
import {Empty} from '../ui/parts.tsx'
import {wordOf} from '../ui/Status.tsx'
import {Line} from '../ui/Text.tsx'
import {type Attempt, attemptsOf} from './inside.ts'
import {StepPanel} from './StepPanel.tsx'
import {type TabProps, useStepKeys} from './StepsTab.tsx'
import styles from './Timeline.module.css'
import {type Axis, axisOf, type Bar} from './timeline_axis.ts'

// most limits the lanes that are drawn; the list of steps shows all.
const most = 200

// Timeline shows when each node was working, with the attempts of its steps. Time in which the run
// waited or slept is collapsed.
export function Timeline({live, place, definition}: TabProps) {
  const {steps} = live.view
  useStepKeys(steps, place)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new event is a new time
  const axis = useMemo(() => axisOf(steps, timeOf(live)), [steps, live.view.seq])
  const lanes = useMemo(() => {
    const of: Bar[][] = axis.lanes.map(() => [])
    for (const b of axis.bars) of[b.lane]!.push(b)
    return of
  }, [axis])
  const retried = useMemo(
    () => new Set(live.events.filter(e => e.type === 'step.retrying').map(e => e.step)),
    [live.events],
  )
  const chosen = steps.find(s => s.seq === place.step)
  if (axis.bars.length === 0) return <Empty title="No step has begun yet" />
  const names = new Map(steps.map(s => [s.node, s.name]))
  const part = (n: number) => `${(n / axis.width) * 100}%`
  return (
    <div className={styles.tab}>
      <div className={styles.lanes}>
        {axis.lanes.slice(0, most).map((node, lane) => (
          <div key={node} className={styles.lane}>
            <span className={styles.name}>
              <Line>{names.get(node) ?? node}</Line>
            </span>
            <div className={styles.track}>
              {axis.gaps.map(g => (
                <span
                  key={g.at}
                  className={styles.gap}
                  style={{left: part(g.at)}}
                  title={`${duration(g.ms)} in which nothing was at work`}
                />
              ))}
              {lanes[lane]!.map(b => (
                <button
                  key={b.step.seq}
                  type="button"
                  className={`${styles.bar} ${styles[b.step.status]}`}
                  style={{left: `min(${part(b.from)}, calc(100% - 6px))`, width: `max(6px, ${part(b.to - b.from)})`}}
                  aria-pressed={b.step.seq === place.step}
                  aria-label={clean(labelOf(b))}
                  title={clean(labelOf(b))}
                  onClick={() => place.set({step: b.step.seq})}
                >
                  {b.count === 1 && retried.has(b.step.seq) && (
                    <Attempts of={attemptsOf(live.events, b.step, timeOf(live))} bar={b} axis={axis} />
                  )}
                  {b.count > 1 ? (
                    <span className={styles.attempt}>×{b.count}</span>
                  ) : b.step.attempt > 1 ? (
                    <span className={styles.attempt}>↻{b.step.attempt}</span>
                  ) : null}
                </button>
              ))}
            </div>
            <span className={styles.sum}>
              {duration(lanes[lane]!.reduce((n, b) => n + (b.step.durationMs ?? 0), 0))}
            </span>
          </div>
        ))}
      </div>
      {axis.gaps.length > 0 && (
        <p className={styles.note}>
          Folded: {axis.gaps.map(g => duration(g.ms)).join(', ')} in which nothing was at work.
        </p>
      )}
      {axis.lanes.length > most && (
        <p className={styles.note}>
          Of {axis.lanes.length} nodes the first {most} are shown.
        </p>
      )}
      {chosen && <StepPanel live={live} step={chosen} place={place} definition={definition} />}
    </div>
  )
}

const labelOf = (b: Bar): string =>
  b.count > 1
    ? `${b.step.name}, ${b.count} steps close to each other`
    : `${b.step.name}, step ${b.step.seq}, ${wordOf(b.step.status)}, ${duration(b.step.durationMs)}` +
      `${b.step.attempt > 1 ? `, attempt ${b.step.attempt}` : ''}`

// Attempts are the attempts within a bar: the failed ones, and the pauses after them.
function Attempts({of, bar, axis}: {of: Attempt[]; bar: Bar; axis: Axis}) {
  const width = Math.max(1, bar.to - bar.from)
  return (
    <>
      {of.slice(0, -1).map((a, i) => {
        const from = axis.place(a.from) - bar.from
        return (
          <span
            key={i}
            className={a.waits ? styles.pause : styles.try}
            style={{
              left: `${(from / width) * 100}%`,
              width: `${((axis.place(a.to) - bar.from - from) / width) * 100}%`,
            }}
            title={
              a.waits
                ? `${duration(a.to - a.from)} until the next attempt`
                : clean(`attempt ${a.attempt} failed: ${a.code}`)
            }
          />
        )
      })}
    </>
  )
}
