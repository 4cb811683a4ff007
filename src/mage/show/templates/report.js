(() => {
  const form = document.querySelector(".filter");
  if (!form) return;
  const trials = [...document.querySelectorAll(".trial")];
  const fits = (trial) => {
    const results = trial.dataset.results.split(" ");
    const wanted = [...form.querySelectorAll("[name=result]")];
    return (!form.opponent?.value || trial.dataset.opponent === form.opponent.value)
      && (!form.illegal.checked || trial.dataset.illegal === "yes")
      && wanted.every((select) => !select.value || results[select.dataset.episode] === select.value);
  };
  const update = () => {
    for (const trial of trials) trial.hidden = !fits(trial);
    form.querySelector("output").textContent = `${trials.filter((trial) => !trial.hidden).length} of ${trials.length}`;
  };
  form.addEventListener("change", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.reset();
  update();
})();
