// People decide on a phone. The spec covers two waits in both orders; two open pages,
// the second of which says who answered first (P24); opposite answers, expired waits, a missing
// permission; held calls with real and with changed arguments (SEC12); budgets and calls of unknown
// outcome. Everything runs in the dark theme.
import {caller, check, ended, settled, signIn, withPages} from './lib.mjs'

export const letter = `workflow:
  - {id: letter, type: set, values: {text: "{{ $input }}"}}
  - id: ok
    type: approval
    prompt: Send it?
    reject: [{type: end, status: failed, message: "not sent: {{ $steps.ok.note }}"}]
  - {type: end, output: "sent: {{ $steps.letter.output.text }}"}
`
export const two = `workflow:
  - id: both
    type: parallel
    steps:
      - {id: first, type: approval, prompt: Is the date right?}
      - id: second
        type: ask
        prompt: How many guests?
        schema: {type: object, required: [n], properties: {n: {type: integer, minimum: 2, title: Guests}}}
  - {type: end, output: "{{ $steps.second.output }}"}
`
const late = deadline => `workflow:
  - {id: ok, type: approval, prompt: Soon?, deadline: ${deadline}s}
  - {type: end, output: done}
`
export const held = `permissions: {ask: [think], edit: [think]}
toolsets: [{type: think}]
workflow:
  - {id: note, type: tool, tool: think, args: {thought: Pay 5 to Bob}}
  - {type: end, output: "{{ $steps.note.output }}"}
`
export const budget = `toolsets: [{type: think}]
workflow:
  budget: {calls: 1, on_reached: pause}
  steps:
    - {id: a, type: tool, tool: think, args: {thought: one}}
    - {id: b, type: tool, tool: think, args: {thought: two}}
`
export const lost = `workflow:
  - {id: pay, type: tool, tool: pay, args: {to: Bob, sum: 5}, call_timeout: 1s}
  - {type: end, output: went on}
`

export const phone = {viewport: {width: 390, height: 844}, colorScheme: 'dark'}

// comfortable checks that a page can be used with a thumb: nothing scrolls sideways, and all
// controls in a part of the page are large.
export async function comfortable(page, what, inside = 'main') {
  const found = await page.evaluate(inside => {
    const wide = [document.documentElement, document.querySelector('main')].some(e => e.scrollWidth > e.clientWidth + 1)
    const touched = ['a', 'button', 'input', 'select', 'textarea', 'summary'].map(e => `${inside} ${e}`)
    const small = [...document.querySelectorAll([...touched, 'nav a'].join())]
      .map(e => e.closest('[data-whole]') ?? e) // a row that is one touch target
      .map(e => ({
        name: e.textContent.trim().slice(0, 40) || e.getAttribute('aria-label') || e.id,
        box: e.getBoundingClientRect(),
      }))
      .filter(({box}) => box.width > 0 && (box.height < 44 || box.width < 44))
      .map(({name, box}) => `${name}: ${Math.round(box.width)}×${Math.round(box.height)}`)
    return {wide, small}
  }, inside)
  check(`nothing scrolls sideways (${what})`, !found.wide)
  check(`all that is touched is large (${what})`, found.small.length === 0, found.small.join(', '))
}

// checkNoteKept checks that the typed note is still there.
async function checkNoteKept(page, note, what) {
  const now = await page.getByLabel('Note, recorded with the answer').inputValue()
  check(`the note is kept (${what})`, now === note, now)
  await comfortable(page, what)
}

export const spec = (browser, {origin, token}) =>
  withPages(browser, origin, async ({open, allow}) => {
    const api = caller(origin, token)
    const start = (document, name) =>
      api('/runs?wait=20s', {document, format: 'steps', name, input: 'Dear Ada, come on Sunday.'})
    const pathOf = (run, i = 0) => `${origin}/inbox/${run.id}/${run.waiting[i].id}`
    const [first, second, watcher] = [await open(phone), await open(phone), await open()]
    for (const page of [first, second, watcher]) await signIn(page, origin, token)
    const at = async (page, path, what) => {
      await page.goto(path)
      await settled(page)
      await comfortable(page, what)
    }
    allow(/status of (403|409|410|422)/)

    // Two pages show one wait: one answer takes effect, and the other page says who answered first
    // and keeps the typed input.
    const run = await start(letter, 'letter')
    await watcher.goto(`${origin}/runs/${run.id}`)
    await watcher.getByRole('link', {name: 'Decide'}).waitFor()
    for (const page of [first, second]) {
      await at(page, pathOf(run), 'an approval')
      await page.getByRole('region', {name: 'what is judged'}).getByText('Dear Ada, come on Sunday.').waitFor()
    }
    await second.getByLabel('Note, recorded with the answer').fill('better not')
    await first.getByLabel('Note, recorded with the answer').fill('she asked for it')
    await first.getByRole('button', {name: 'Approve'}).click()
    await first.getByText('Answered: approve').waitFor()
    // the open run page shows the end by itself
    await watcher.getByText('sent: Dear Ada, come on Sunday.').first().waitFor()
    const closed = second.getByRole('status', {name: 'This no longer waits'})
    await closed.getByText(/approved first/).waitFor()
    await closed.getByText('she asked for it').waitFor()
    await checkNoteKept(second, 'better not', 'another answer was first')
    const after = await ended(api, run.id)
    check(
      'one answer has effect',
      after.status === 'completed' && after.answers.length === 1 && after.answers[0].note === 'she asked for it',
      JSON.stringify(after.answers),
    )

    // A page that has not received the event yet shows the API's response to an opposite answer and
    // to a late one, and keeps the form.
    const deaf = await open(phone)
    await deaf.addInitScript(() => delete Navigator.prototype.locks) // it polls instead of using a stream
    await signIn(deaf, origin, token)
    allow(/ERR_FAILED/)
    const opposite = await start(letter, 'letter')
    await at(deaf, pathOf(opposite), 'an approval')
    const isDeaf = r => r.abort()
    await deaf.route(/\/events\?/, isDeaf)
    await api(`/runs/${opposite.id}/resume?wait=10s`, {wait: opposite.waiting[0].id, decision: 'approve'})
    await deaf.getByLabel('Note, recorded with the answer').fill('no')
    await deaf.getByRole('button', {name: 'Reject'}).click()
    await deaf
      .getByRole('alert')
      .getByText(/different answer/)
      .waitFor()
    await checkNoteKept(deaf, 'no', 'an opposite answer')
    await deaf.unroute(/\/events\?/)
    await deaf.getByText(/approved first/).waitFor()
    await checkNoteKept(deaf, 'no', 'an answer that came second')

    // Two waits of one run are answered in both orders.
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const both = await start(two, 'two')
      for (const [n, i] of order.entries()) {
        const w = both.waiting[i]
        await at(first, pathOf(both, i), w.kind)
        if (n === 0) await first.getByRole('heading', {name: 'Also waits in this run'}).waitFor()
        if (w.kind === 'approval') await first.getByRole('button', {name: 'Approve'}).click()
        else {
          await first.getByLabel('Guests').fill('1')
          await first.getByLabel('Guests').evaluate(e => e.removeAttribute('min'))
          await first.getByRole('button', {name: 'Send the answer'}).click()
          await first.getByText('must be at least 2').waitFor()
          check('the form is kept', (await first.getByLabel('Guests').inputValue()) === '1')
          await comfortable(first, 'a form with a problem')
          await first.getByLabel('Guests').fill('3')
          await first.getByRole('button', {name: 'Send the answer'}).click()
        }
        await first.getByText(/^Answered: /).waitFor()
        if (n === 0) await first.getByText('The run waits for more:').waitFor()
      }
      const over = await ended(api, both.id)
      check('both answers count', over.status === 'completed' && over.output.n === 3, JSON.stringify(over.output))
    }

    // A wait expires while its page is open: one page receives the event, and the other one gets
    // the API's error. If pages load slowly, the deadline is later.
    const note = page => page.getByLabel('Note, recorded with the answer')
    let passed = false
    for (const seconds of [6, 30, 120]) {
      const soon = await start(late(seconds), 'late')
      for (const page of [first, deaf]) await at(page, pathOf(soon), 'a wait with a deadline')
      await deaf.route(/\/events\?/, isDeaf)
      const typed = await Promise.all(
        [first, deaf].map(page => note(page).fill('too late', {timeout: seconds * 1000})),
      ).then(
        () => true,
        () => false,
      )
      if (!typed || (await api(`/runs/${soon.id}`)).endedAt) {
        await deaf.unroute(/\/events\?/)
        continue
      }
      await first.getByText(/the deadline passed/).waitFor({timeout: 150_000})
      await checkNoteKept(first, 'too late', 'an expired wait')
      check('an expired wait takes no answer', await first.getByRole('button', {name: 'Approve'}).isDisabled())
      await deaf.getByRole('button', {name: 'Approve'}).click()
      await deaf
        .getByRole('alert')
        .getByText(/wait is closed/)
        .waitFor()
      await checkNoteKept(deaf, 'too late', 'an answer that is too late')
      await deaf.unroute(/\/events\?/)
      await deaf.getByText(/the deadline passed/).waitFor()
      passed = true
      break
    }
    check('a deadline passed while its page was open', passed)

    // A held call shows its real arguments. They can be changed if the permissions allow it, and
    // invalid ones are reported by pointer.
    const call = await start(held, 'held')
    await at(first, pathOf(call), 'a held call')
    await first.getByRole('region', {name: 'the arguments'}).getByText('Pay 5 to Bob').waitFor()
    await first.getByRole('button', {name: 'Change the arguments'}).click()
    await first.getByRole('button', {name: 'Edit as JSON'}).click()
    await first.getByLabel('Arguments as JSON').fill('{"thought": 5, "to": "Eve"}')
    await first.getByRole('button', {name: 'Approve with changes'}).click()
    await first.getByText('must be string, not number').waitFor()
    await first.getByText('/to', {exact: true}).waitFor()
    await comfortable(first, 'changed arguments')
    await first.getByLabel('Arguments as JSON').fill('{"thought": "Pay 4 to Ann"}')
    await first.getByRole('button', {name: 'Approve with changes'}).click()
    await first.getByText(/^Answered: approve, with changed arguments/).waitFor()
    const called = await ended(api, call.id)
    check(
      'the call has the changed arguments',
      called.output.includes('Pay 4 to Ann') && called.answers[0].held.thought === 'Pay 5 to Bob',
      JSON.stringify(called),
    )

    // A budget is exhausted: the page shows the limit and the usage, and asks for a new limit.
    const used = await start(budget, 'budget')
    await at(first, pathOf(used), 'a used-up budget')
    await first.getByText('Limit that was reached').waitFor()
    await first.getByLabel('New total of calls').fill('1')
    check('the new limit is larger', await first.getByRole('button', {name: 'Continue'}).isDisabled())
    await first.getByLabel('New total of calls').fill('5')
    await first.getByRole('button', {name: 'Continue'}).click()
    await first.getByText(/^Answered: /).waitFor()
    check('the run continues', (await ended(api, used.id)).status === 'completed')

    // A call has an unknown outcome: the page shows its arguments and the possible decisions.
    const unknown = await start(lost, 'lost')
    await at(first, pathOf(unknown), 'a call of unknown outcome')
    await first.getByRole('region', {name: 'the arguments'}).getByText('"Bob"').waitFor()
    for (const name of ['Retry', 'Fail'])
      check(`${name} is offered`, await first.getByRole('button', {name}).isEnabled())
    await first.getByRole('button', {name: 'Skip'}).click()
    await first.getByText(/^Answered: skip/).waitFor()

    // A user without permission to approve sees a message and no form. The server rejects the
    // answer in any case.
    const made = await api('/tokens', {name: 'reader', role: 'run'})
    const reader = await open(phone)
    await signIn(reader, origin, made.secret ?? made.token)
    const mine = await start(letter, 'letter')
    await at(reader, pathOf(mine), 'without the right to approve')
    await reader.getByText(/lacks the right to approve/).waitFor()
    check('approving is not offered', await reader.getByRole('button', {name: 'Approve'}).isDisabled())
    const status = await reader.evaluate(
      ([id, wait]) =>
        fetch(`/api/v1/runs/${id}/resume`, {
          method: 'POST',
          headers: {'Content-Type': 'application/json', 'Hocket-Page': '1'},
          body: JSON.stringify({wait, decision: 'approve'}),
        }).then(r => r.status),
      [mine.id, mine.waiting[0].id],
    )
    check('approving is refused', status === 403, String(status))
    // If the page does not know yet that the permission is missing, the API says so, and the form
    // is kept.
    await reader.route(/\/session$/, async r => {
      const answer = await r.fetch()
      await r.fulfill({response: answer, json: {...(await answer.json()), approve: true}})
    })
    await reader.reload()
    await settled(reader)
    await reader.getByLabel('Note, recorded with the answer').fill('may I?')
    await reader.getByRole('button', {name: 'Approve'}).click()
    await reader
      .getByRole('alert')
      .getByText(/approvals need a token with the right/)
      .waitFor()
    await checkNoteKept(reader, 'may I?', 'the right to approve is missing')
    await at(first, `${origin}/inbox`, 'the inbox')
    await first.getByRole('link', {name: 'Send it?'}).waitFor()
  })
