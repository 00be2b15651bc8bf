import {ChevronLeft, ChevronRight} from 'lucide-react'
import {clockTime} from '../lib/format.ts'
import type {LiveRun} from '../live/run_source.ts'
import {useKeys} from '../shell/keys.ts'
import {Button, IconButton} from '../ui/parts.tsx'
import {Line} from '../ui/Text.tsx'
import type {Place} from './place.ts'
import styles from './Scrubber.module.css'

// Scrubber moves through the journal: the whole page shows the run as it was after any event. The
// address has the number of the event.
export function Scrubber({live, place}: {live: LiveRun; place: Place}) {
  const last = live.events.at(-1)?.seq ?? 1
  const past = place.at > 0 && place.at < last
  const at = past ? place.at : last
  const go = (to: number) => place.set({at: to >= last ? null : Math.max(1, to)})
  useKeys({',': () => go(at - 1), '.': () => go(at + 1)})
  const event = live.events.find(e => e.seq === at)
  return (
    <div className={styles.bar} role="group" aria-label="Position in the journal" data-past={past || undefined}>
      <IconButton label="Previous event" disabled={at <= 1} onClick={() => go(at - 1)}>
        <ChevronLeft size={14} />
      </IconButton>
      <input
        type="range"
        className={styles.range}
        aria-label="Event"
        aria-valuetext={`${at} of ${last}${event ? `: ${event.type}` : ''}`}
        min={1}
        max={last}
        value={at}
        onChange={e => go(Number(e.target.value))}
      />
      <IconButton label="Next event" disabled={!past} onClick={() => go(at + 1)}>
        <ChevronRight size={14} />
      </IconButton>
      <span className={styles.at}>
        {at} of {last}
      </span>
      {past && event && (
        <span className={styles.event}>
          <Line>{`${event.type}${event.node ? ` · ${event.node}` : ''} · ${clockTime(event.time)}`}</Line>
        </span>
      )}
      {past && <Button onClick={() => place.set({at: null})}>{live.view.endedAt ? 'To the end' : 'Live'}</Button>}
    </div>
  )
}
