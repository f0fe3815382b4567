//! Submitting to a Slurm that is not there: commands first in PATH write down what they are told.

use super::{Place, SWEEP};
use std::os::unix::fs::PermissionsExt;

/// A planned dataset `data`, and a folder `bin` for what stands in for Slurm's commands.
fn planned() -> Place {
    let place = Place::new(SWEEP);
    place.succeeds(&["plan", "sweep.yaml", "--out", "data"]);
    std::fs::create_dir(place.path("bin")).unwrap();
    place
}

impl Place {
    fn stand_in(&self, name: &str, script: &str) {
        let file = format!("bin/{name}");
        self.write(&file, &format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(self.path(&file), PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// Runs `poolsweep slurm data` with nothing in PATH but `bin` and the shell's own.
    fn slurm(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = self.poolsweep(&["slurm", "data"]);
        command.args(arguments).env("PATH", self.path("bin"));
        // As from within another job.
        let output = command.env("SLURM_CPUS_PER_TASK", "77").output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }
}

/// An sbatch that writes down its arguments and answers 41, 42, …
const SBATCH: &str = r#"
log="${0%/*}/log"
n=40
if [ -e "$log" ]; then while read -r _; do n=$((n + 1)); done <"$log"; fi
echo "$* ${SLURM_CPUS_PER_TASK:-none}" >>"$log"
echo "$((n + 1));cluster""#;

#[test]
fn both_scripts_are_submitted_the_second_after_the_first() {
    let place = planned();
    place.stand_in("sbatch", SBATCH);
    place.stand_in("scontrol", "echo 'MaxArraySize            = 3'");
    let (code, out, err) = place.slurm(&["--shards", "2", "--submit"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let log = std::fs::read_to_string(place.path("bin/log")).unwrap();
    assert_eq!(
        log.lines().collect::<Vec<_>>(),
        [
            "--parsable data/slurm/sweep.sbatch none",
            "--parsable --dependency=afterany:41 data/slurm/finish.sbatch none",
        ]
    );
    for said in [
        "array   41, 2 shards",
        "finish  42,",
        "squeue -j 41,42; poolsweep status data --watch",
        "data/slurm/41_*.log, data/slurm/42-finish.log",
        "finished jobs are skipped",
    ] {
        assert!(out.contains(said), "{said}: {out}");
    }
    let script = std::fs::read_to_string(place.path("data/slurm/sweep.sbatch")).unwrap();
    assert!(script.contains("\n#SBATCH --array=1-2\n"), "{script}");
    let data = place.path("data");
    assert!(script.contains(&format!(" run {} ", data.display())), "{script}");

    // The same again goes on.
    assert_eq!(place.slurm(&["--shards", "2", "--submit"]).0, 0);
    assert_eq!(std::fs::read_to_string(place.path("bin/log")).unwrap().lines().count(), 4);
    // Index 3 is not below 3.
    let (code, _, err) = place.slurm(&["--shards", "3"]);
    assert_eq!(code, 2);
    assert!(err.contains("MaxArraySize = 3, so 2 at most"), "{err}");
}

#[test]
fn what_sbatch_says_is_passed_on() {
    let place = planned();
    let (code, out, err) = place.slurm(&["--submit"]);
    assert_eq!((code, out.as_str()), (7, ""));
    assert!(err.contains("there is no sbatch in PATH"), "{err}");

    place.stand_in("sbatch", "echo 'sbatch: error: invalid partition' >&2; exit 1");
    let (code, out, err) = place.slurm(&["--submit"]);
    assert_eq!((code, out.as_str()), (7, ""));
    assert!(err.contains("invalid partition"), "{err}");

    place.stand_in("sbatch", "echo 'Submitted batch job 3'");
    let (code, _, err) = place.slurm(&["--submit"]);
    assert_eq!(code, 7);
    assert!(err.contains("printed no job id"), "{err}");

    // The array runs by then: whoever reads this has to know its id.
    place.stand_in("sbatch", "case \"$*\" in *afterany*) echo no >&2; exit 1;; esac; echo 9");
    let (code, _, err) = place.slurm(&["--submit"]);
    assert_eq!(code, 7);
    assert!(err.contains("the array is submitted as 9, the job after it is not"), "{err}");
}

#[test]
fn without_an_answer_the_default_limit_holds() {
    let place = planned();
    let (code, out, err) = place.slurm(&[]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("sbatch --dependency=afterany:$array data/slurm/finish.sbatch"), "{out}");
    place.stand_in("scontrol", "echo 'unable to contact' >&2; exit 1");
    let (code, _, err) = place.slurm(&[]);
    assert_eq!(code, 0);
    assert!(err.contains("unable to contact; taking MaxArraySize as 1001"), "{err}");
}

#[test]
fn a_script_changed_by_hand_is_not_replaced_unasked() {
    let place = planned();
    assert_eq!(place.slurm(&[]).0, 0);
    let path = place.path("data/slurm/sweep.sbatch");
    let first = std::fs::read_to_string(&path).unwrap();
    place.write("data/slurm/sweep.sbatch", &format!("{first}# mine\n"));
    let (code, _, err) = place.slurm(&["--time", "10"]);
    assert_eq!(code, 7);
    assert!(err.contains("--force replaces it"), "{err}");
    assert!(std::fs::read_to_string(&path).unwrap().ends_with("# mine\n"));
    // Nor is the other one, which nobody changed.
    let finish = std::fs::read_to_string(place.path("data/slurm/finish.sbatch")).unwrap();
    assert!(!finish.contains("--time"), "{finish}");
    assert_eq!(place.slurm(&["--time", "10", "--force"]).0, 0);
    assert!(std::fs::read_to_string(&path).unwrap().contains("--time=10\n"));
}

#[test]
fn printing_writes_nothing() {
    let place = planned();
    let (code, sweep, _) = place.slurm(&["--print"]);
    assert_eq!(code, 0);
    assert!(sweep.contains("#SBATCH --array=1-"), "{sweep}");
    let (_, finish, _) = place.slurm(&["--print=finish"]);
    assert!(finish.contains("-finish.log"), "{finish}");
    assert!(!place.path("data/slurm").exists());
    assert_eq!(place.slurm(&["--print", "--submit"]).0, 2);
}

#[test]
fn without_a_plan_the_next_step_is_said() {
    let place = Place::new(SWEEP);
    for command in [&["slurm", "data"][..], &["k8s", "data", "--image", "i", "--claim", "c"][..]] {
        let (code, _, err) = place.ends(command);
        assert_eq!(code, 3);
        assert!(err.contains("run poolsweep plan FILE --out data first"), "{err}");
    }
}
