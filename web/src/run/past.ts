import type {LiveRun} from '../live/run_source.ts'
import {Fold} from './project.ts'
import type {Definition, RunEvent} from './types.ts'

// most bounds the checkpoints of a run, which are copies of all its steps; least is how many events are between two of them at least.
const most = 16
const least = 250

// Past shows a run as it was after any of its events, by the same fold as live (P36). It keeps checkpoints on its way, so that a position is not folded from the beginning.
export class Past {
  private readonly marks: {at: number; fold: Fold}[] = []
  private now: {at: number; fold: Fold}

  constructor(
    private readonly id: string,
    private readonly definition: Definition | null,
  ) {
    this.now = this.beginning()
  }

  private beginning = () => ({at: 0, fold: new Fold(this.id, this.definition)})

  // of gives the run after the event at. An event beyond the last one, or none, is the live view itself.
  of(live: LiveRun, at: number): LiveRun {
    const last = live.events.at(-1)?.seq ?? 0
    if (at <= 0 || at >= last) return live
    const end = endOf(live.events, at)
    this.go(live.events, end)
    return {...live, past: last, events: live.events.slice(0, end), saying: new Map(), view: this.now.fold.view()}
  }

  // go folds from the checkpoint before end, or from where it is, and leaves checkpoints behind.
  private go(events: readonly RunEvent[], end: number): void {
    const mark = this.marks.findLast(m => m.at <= end)
    if (this.now.at > end || (mark && mark.at > this.now.at)) this.now = mark ? {at: mark.at, fold: mark.fold.copy()} : this.beginning()
    const between = Math.max(least, Math.ceil(events.length / most))
    while (this.now.at < end) {
      this.now.fold.add(events[this.now.at++]!)
      if (this.marks.length < most && this.now.at >= (this.marks.at(-1)?.at ?? 0) + between) this.marks.push({at: this.now.at, fold: this.now.fold.copy()})
    }
  }
}

// endOf gives how many events there are up to a number.
function endOf(events: readonly RunEvent[], seq: number): number {
  let [low, high] = [0, events.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (events[middle]!.seq <= seq) low = middle + 1
    else high = middle
  }
  return low
}
