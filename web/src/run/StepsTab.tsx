import {useVirtualizer} from '@tanstack/react-virtual'
import {useEffect, useMemo, useRef} from 'react'
import {count, duration} from '../lib/format.ts'
import type {LiveRun} from '../live/run_source.ts'
import {useKeys} from '../shell/keys.ts'
import {Status} from '../ui/Status.tsx'
import {Line} from '../ui/Text.tsx'
import {iterationsOf} from './inside.ts'
import type {Place} from './place.ts'
import {StepPanel} from './StepPanel.tsx'
import styles from './StepsTab.module.css'
import type {Definition, Step} from './types.ts'

export type TabProps = {live: LiveRun; place: Place; definition: Definition | null}

// neighbour returns the number of the step that is at a given distance before or after another one
// in a list.
const neighbour = (steps: Step[], at: number, by: number): number | undefined => {
  const i = steps.findIndex(s => s.seq === at)
  return steps[i < 0 ? 0 : Math.max(0, Math.min(steps.length - 1, i + by))]?.seq
}

// shownSteps leaves out the steps of map items, which may be tens of thousands, except the steps of
// the open item.
export function shownSteps(steps: Step[], open: number): Step[] {
  if (!steps.some(s => s.map !== undefined)) return steps
  const at = steps.find(s => s.seq === open)
  return steps.filter(s => s.map === undefined || (at !== undefined && s.map === at.map && s.item === at.item))
}

// useStepKeys moves among the steps with `j` and `k`, and among the steps of one node with `[` and
// `]`.
export function useStepKeys(steps: Step[], place: Place): void {
  const go = (list: Step[], by: number) => {
    const step = neighbour(list, place.step, by)
    if (step) place.set({step})
  }
  const same = () => {
    const at = steps.find(s => s.seq === place.step)
    return at ? iterationsOf(steps, at) : []
  }
  useKeys({
    j: () => go(shownSteps(steps, place.step), 1),
    k: () => go(shownSteps(steps, place.step), -1),
    '[': () => go(same(), -1),
    ']': () => go(same(), 1),
    Escape: () => place.set({step: null}),
  })
}

export function StepsTab({live, place, definition}: TabProps) {
  const all = live.view.steps
  useStepKeys(all, place)
  const steps = useMemo(() => shownSteps(all, place.step), [all, place.step])
  const box = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: steps.length,
    getScrollElement: () => box.current,
    estimateSize: () => 48,
    overscan: 10,
  })
  const index = steps.findIndex(s => s.seq === place.step)
  useEffect(() => {
    if (index >= 0) virtual.scrollToIndex(index)
  }, [index, virtual])
  const chosen = steps[index]
  return (
    <div className={styles.split} data-open={chosen ? true : undefined}>
      <div ref={box} className={styles.list}>
        <ol style={{height: virtual.getTotalSize()}} className={styles.inner} aria-label="Steps">
          {virtual.getVirtualItems().map(v => {
            const s = steps[v.index]!
            return (
              <li key={s.seq} style={{transform: `translateY(${v.start}px)`}} className={styles.item}>
                <button
                  type="button"
                  className={styles.row}
                  aria-pressed={s.seq === place.step}
                  onClick={() => place.set({step: s.seq})}
                >
                  <Status of={s.status} brief />
                  <span className={styles.name}>
                    <Line>{s.name}</Line>
                    <small>
                      {s.kind}
                      {s.iteration > 1 ? ` · iteration ${s.iteration}` : ''}
                      {s.attempt > 1 ? ` · attempt ${s.attempt}` : ''}
                      {s.item !== undefined ? ` · item ${s.item + 1}` : ''}
                    </small>
                  </span>
                  <span className={styles.took}>
                    {duration(s.durationMs)}
                    {s.usage.inputTokens + s.usage.outputTokens > 0 && (
                      <small>{count(s.usage.inputTokens + s.usage.outputTokens)} tok</small>
                    )}
                  </span>
                </button>
              </li>
            )
          })}
        </ol>
      </div>
      {chosen ? (
        <StepPanel live={live} step={chosen} place={place} definition={definition} />
      ) : (
        <p className={styles.hint}>Choose a step to see what it was given, what it said, and what it cost.</p>
      )}
    </div>
  )
}
