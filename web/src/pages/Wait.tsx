import {ChevronLeft} from 'lucide-react'
import {useRef, useState} from 'react'
import {Link} from 'wouter'
import type {LiveRun} from '../live/run_source.ts'
import {useRun} from '../live/use_run.ts'
import {Awaited, isThere} from '../run/Awaited.tsx'
import {useDefinition} from '../run/definition.ts'
import type {Waiting} from '../run/types.ts'
import {useOpenWaits} from '../shell/waits.ts'
import {Empty, ErrorBox} from '../ui/parts.tsx'
import {Line} from '../ui/Text.tsx'
import {Gone} from '../wait/Closed.tsx'
import styles from '../wait/Decide.module.css'
import {Decide} from '../wait/Decide.tsx'
import {closedOf} from '../wait/facts.ts'
import {waitTitle} from '../wait/words.ts'

// WaitPage is the page on which a person answers a wait. It follows the run, so it notices when
// another answer is first.
export function WaitPage({run, wait}: {run: string; wait: string}) {
  const waits = useOpenWaits()
  const definition = useDefinition(run)
  const live = useRun(run, definition.data)
  const [said, setSaid] = useState('')
  const seen = useRef<Waiting | null>(null)
  const inside = () => {
    if (definition.error) return <ErrorBox error={definition.error} again={() => void definition.refetch()} />
    if (!isThere(live)) return <Awaited of={[live]} what="what waits" />
    if (said) return <Done said={said} live={live} />
    seen.current = live.view.waiting.find(w => w.id === wait) ?? seen.current
    if (!seen.current) return <Gone run={run} closed={closedOf(live.view, live.events, wait)} />
    return <Decide wait={seen.current} live={live} done={setSaid} />
  }
  return (
    <div className={styles.page}>
      <Link href="/inbox" className={styles.back}>
        <ChevronLeft size={14} aria-hidden /> Inbox{waits.data ? ` ${waits.data.length}` : ''}
      </Link>
      {isThere(live) && live.refused && <ErrorBox error={live.refused} />}
      {inside()}
    </div>
  )
}

function Done({said, live}: {said: string; live: LiveRun}) {
  const waits = useOpenWaits()
  const {view} = live
  const here = view.waiting[0]
  const next = (waits.data ?? []).find(w => w.run !== view.id)
  return (
    <Empty title={`Answered: ${said}`}>
      {here && (
        <p>
          The run waits for more:{' '}
          <Link href={`/inbox/${view.id}/${here.id}`}>
            <Line>{waitTitle(here)}</Line>
          </Link>
        </p>
      )}
      <p className={styles.links}>
        <Link href={`/runs/${view.id}`}>Watch the run</Link>
        {next && <Link href={`/inbox/${next.run}/${next.id}`}>Next in the inbox</Link>}
      </p>
    </Empty>
  )
}
