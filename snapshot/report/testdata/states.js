// Goes to the entries GIVEN as a person would who types their numbers, and posts what the page says of
// each, and what it saves of all. PAGE and GIVEN are put before it.
const frame = document.createElement("iframe");
frame.width = 1200;
frame.height = 900;
frame.srcdoc = PAGE;
const until = async (f) => { while (!f()) await new Promise((done) => setTimeout(done, 10)); };
const use = async () => {
  const page = frame.contentDocument, view = frame.contentWindow, byId = (id) => page.getElementById(id);
  const number = byId("entry-number"), texts = (box) => [...box.querySelectorAll("td")].map((cell) => cell.textContent);
  await until(() => !number.disabled);
  const states = [];
  for (const entry of GIVEN) {
    const began = view.performance.now();
    number.value = entry;
    number.dispatchEvent(new view.Event("change"));
    const took = view.performance.now() - began;
    const [allocated, reserved] = [...byId("layout-summary").querySelectorAll("span")].map((span) => Number(span.title.replace(/\D/g, "")));
    byId("map").dispatchEvent(new view.KeyboardEvent("keydown", { key: "Home", bubbles: true }));
    const segment = byId("block").querySelector(":scope > details");
    segment.open = true;
    await until(() => segment.children.length > 1);
    const told = (pattern) => Number(byId("layout-summary").textContent.match(pattern)[1].replace(/,/g, ""));
    states.push({ entry, took, allocated, reserved, segments: told(/in ([\d,]+) segment/), blocks: told(/with ([\d,]+) active/), slider: Number(byId("entry").value),
      does: byId("entry-does").textContent, segment: segment.firstChild.textContent, cells: texts(segment), stacks: segment.querySelectorAll("details .stack").length });
  }
  let saved;
  view.URL.createObjectURL = (blob) => { saved = blob; return "blob:none"; };
  [...byId("save").querySelectorAll("button")].at(-1).click();
  return { states, saved: JSON.parse(await saved.text()).states };
};
frame.onload = () => setTimeout(() => use().catch((error) => ({ error: error.stack })).then((result) => fetch("/used", { method: "POST", body: JSON.stringify(result) })), 100);
document.body.append(frame);
