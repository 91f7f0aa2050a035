"""Configuration of nbgrader for the folder `nbgrader/` of the lecturer's bundle."""

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "gt2lite"
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError  # replace this line by yours"}
