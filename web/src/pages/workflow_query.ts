import type {QueryClient} from '@tanstack/react-query'
import type {Stored} from '../edit/stored.ts'

// Ending tells that a workflow is being deleted, or was. A page has one for its workflow.
export type Ending = {now: boolean}

const keyOf = (id: string) => ['workflows', 'one', id] as const

// storedQuery asks for a stored workflow. It is not asked for while it is being deleted, and not after that, whichever notice says that workflows have changed.
export const storedQuery = (id: string, ending: Ending, read: (signal: AbortSignal) => Promise<Stored>) => ({
  queryKey: keyOf(id),
  queryFn: ({signal}: {signal: AbortSignal}) => read(signal),
  enabled: () => !ending.now,
})

// deleteStored deletes a workflow with remove, and ends what asks for it before that. Where remove fails the workflow is asked for again.
export async function deleteStored(
  queries: QueryClient,
  id: string,
  ending: Ending,
  remove: () => Promise<unknown>,
): Promise<void> {
  ending.now = true
  try {
    await queries.cancelQueries({queryKey: keyOf(id)})
    await remove()
  } catch (err) {
    ending.now = false
    void queries.invalidateQueries({queryKey: keyOf(id)})
    throw err
  }
}

// forgetStored drops what is known of a workflow that was deleted, once its page is left.
export function forgetStored(queries: QueryClient, id: string): void {
  queries.removeQueries({queryKey: keyOf(id)})
  void queries.invalidateQueries({queryKey: ['workflows', 'list']})
}
